import type { Command } from 'commander';
import type { PerformFlags } from '../perform.js';
import { clusterOption, cookbookDirOption, jsonOption, quietOption, stateDirOption } from '../options.js';

export interface RunFlags extends PerformFlags {
  readonly cookbookDir: readonly string[];
  readonly input?: readonly string[];
  readonly force?: boolean;
}

const shared = (command: Command): Command =>
  command
    .argument('<cookbook>', 'a shipped cookbook, one of your own by name, or the path of a YAML file')
    .addOption(clusterOption())
    .addOption(cookbookDirOption())
    .option('-i, --input <name=value>', 'an input of the cookbook; may be given several times', collect)
    .option('--force', 'the same as --input force=true')
    .addOption(jsonOption());

const collect = (value: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  value,
];

/** `run` and `plan`. */
export const addRunCommands = (root: Command): void => {
  shared(root.command('run'))
    .summary('run a cookbook: observe, plan, prove, ask, apply, verify')
    .description(
      'Observes the cluster, draws up the plan of the cookbook, proves that no step of it lets a token be refused, shows it and asks; then applies it change by change. After an interruption of any kind, run it again: it does what is left.',
    )
    .option('--dry-run', 'stop before the first change; exit 3 when there are changes to be made')
    .option('-y, --yes', 'do not ask; needed where there is no terminal')
    .addOption(quietOption())
    .option('--reason <text>', 'why; goes to the journal and the lock')
    .option('--task-id <id>', 'ticket or task; goes to the journal and the lock')
    .addOption(stateDirOption())
    .addHelpText(
      'after',
      `
Examples:
  certroll run rotate-sa-keys -c prod.yaml
  certroll run rotate-sa-keys -c prod.yaml --force --reason 'key may have leaked' --task-id T12345
  certroll run rotate-sa-keys -c prod.yaml --dry-run
  certroll run restart-apiservers -c prod.yaml -i only=stale --yes`,
    )
    .action(async (cookbook: string, flags: RunFlags) => {
      const { runCookbook } = await import('../run-cookbook.js');
      process.exitCode = await runCookbook(cookbook, flags);
    });

  shared(root.command('plan'))
    .summary('show what a run would change; changes nothing')
    .description(
      'The same as run --dry-run: exit 0 when there is nothing to do, 3 when there is, 4 when the proof refuses it.',
    )
    .addHelpText(
      'after',
      `
Examples:
  certroll plan rotate-sa-keys -c prod.yaml
  certroll plan rotate-sa-keys -c prod.yaml --force --json`,
    )
    .action(async (cookbook: string, flags: RunFlags) => {
      const { runCookbook } = await import('../run-cookbook.js');
      process.exitCode = await runCookbook(cookbook, { ...flags, dryRun: true });
    });
};
