import type { Command } from 'commander';
import { clusterOption, jsonOption } from '../options.js';

export interface StatusFlags {
  readonly cluster: string;
  readonly json?: boolean;
}

export const addStatusCommand = (root: Command): void => {
  root
    .command('status')
    .summary('show who signs with which key, and which apiserver accepts it')
    .description(
      'Observes the cluster and shows the trust matrix, the key registry and the rotation under way. Changes nothing. Exit 3 when a token would be refused somewhere.',
    )
    .addOption(clusterOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nExamples:\n  certroll status -c prod.yaml\n  certroll status -c prod.yaml --json',
    )
    .action(async (flags: StatusFlags) => {
      const { showStatus } = await import('../show-status.js');
      process.exitCode = await showStatus(flags);
    });
};
