import type { Command } from 'commander';
import { clusterOption, jsonOption, quietOption, stateDirOption } from '../options.js';
import type { PerformFlags } from '../perform.js';

export interface HistoryFlags {
  readonly cluster: string;
  readonly stateDir?: string;
  readonly json?: boolean;
}

/** `history` and `rollback`. */
export const addHistoryCommands = (root: Command): void => {
  root
    .command('history')
    .summary('list the runs that were made from this bastion')
    .description(
      'Lists the runs on a cluster by their journals on this bastion, newest first. Changes nothing.',
    )
    .addOption(clusterOption())
    .addOption(stateDirOption())
    .addOption(jsonOption())
    .addHelpText('after', '\nExamples:\n  certroll history -c prod.yaml')
    .action(async (flags: HistoryFlags) => {
      const { showHistory } = await import('../show-history.js');
      process.exitCode = await showHistory(flags);
    });

  root
    .command('rollback')
    .argument(
      '<run>',
      "a run as history lists it, the beginning of its id, or 'last': the last that changed who signs",
    )
    .summary('go back to the signing keys that a run found')
    .description(
      'Every control plane signs again with the key it had before that run, one after the other, by the same proof, gates and lock as the way there. The keys of the run stay trusted while tokens signed with them live. Deleted token Secrets do not come back.',
    )
    .addOption(clusterOption())
    .option('--dry-run', 'stop before the first change; exit 3 when there are changes to be made')
    .option('-y, --yes', 'do not ask; needed where there is no terminal')
    .addOption(quietOption())
    .option('--reason <text>', 'why; goes to the journal and the lock')
    .option('--task-id <id>', 'ticket or task; goes to the journal and the lock')
    .addOption(stateDirOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `
Examples:
  certroll rollback last -c prod.yaml --dry-run
  certroll rollback 20260101T120000Z-a1b2c3 -c prod.yaml --reason 'webhook refuses the new issuer'`,
    )
    .action(async (run: string, flags: PerformFlags) => {
      const { rollBackRun } = await import('../roll-back-run.js');
      process.exitCode = await rollBackRun(run, flags);
    });
};
