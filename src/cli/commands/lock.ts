import type { Command } from 'commander';
import { clusterOption, jsonOption } from '../options.js';

export interface LockFlags {
  readonly cluster: string;
  readonly json?: boolean;
}

export const addLockCommands = (root: Command): void => {
  const lock = root
    .command('lock')
    .summary('the lock that restarts are made under')
    .description("The lock that restarts are made under: etcd's own, as etcdctl lock NAME takes it.");
  lock
    .command('show')
    .summary('who holds the lock and who waits for it')
    .description(
      'Shows who holds the lock and who waits for it, oldest first: owner, pid, run and reason where certroll holds it, the lease where etcdctl does. Changes nothing.',
    )
    .addOption(clusterOption())
    .addOption(jsonOption())
    .addHelpText('after', '\nExamples:\n  certroll lock show -c prod.yaml')
    .action(async (flags: LockFlags) => {
      const { showLock } = await import('../show-lock.js');
      process.exitCode = await showLock(flags);
    });
};
