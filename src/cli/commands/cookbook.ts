import type { Command } from 'commander';
import { cookbookDirOption, jsonOption } from '../options.js';

export interface CookbookFlags {
  readonly cookbookDir: readonly string[];
  readonly json?: boolean;
}

export const addCookbookCommands = (root: Command): void => {
  const cookbook = root
    .command('cookbook')
    .summary('list, show and validate cookbooks, and the steps they may use')
    .description('Cookbooks: the shipped ones and your own.');
  cookbook
    .command('list')
    .summary('the cookbooks that can be run')
    .addOption(cookbookDirOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nExamples:\n  certroll cookbook list\n  certroll cookbook list --cookbook-dir ~/cookbooks',
    )
    .action(async (flags: CookbookFlags) => {
      const { listCookbooks } = await import('../show-cookbooks.js');
      process.exitCode = await listCookbooks(flags);
    });
  cookbook
    .command('show')
    .argument('<cookbook>')
    .summary('its inputs and steps')
    .addOption(cookbookDirOption())
    .addOption(jsonOption())
    .addHelpText('after', '\nExamples:\n  certroll cookbook show rotate-sa-keys')
    .action(async (name: string, flags: CookbookFlags) => {
      const { showCookbook } = await import('../show-cookbooks.js');
      process.exitCode = await showCookbook(name, flags);
    });
  cookbook
    .command('steps')
    .summary('the steps that a cookbook may use, and their settings')
    .addOption(jsonOption())
    .addHelpText('after', '\nExamples:\n  certroll cookbook steps')
    .action(async (flags: Pick<CookbookFlags, 'json'>) => {
      const { showSteps } = await import('../show-steps.js');
      process.exitCode = showSteps(flags);
    });
  cookbook
    .command('validate')
    .argument('<cookbook...>')
    .summary('check cookbooks: form, step names, inputs, expressions')
    .addOption(cookbookDirOption())
    .addHelpText('after', '\nExamples:\n  certroll cookbook validate ./cookbooks/my-rotation.yaml')
    .action(async (names: readonly string[], flags: CookbookFlags) => {
      const { validateCookbooks } = await import('../show-cookbooks.js');
      process.exitCode = await validateCookbooks(names, flags);
    });
};
