import { statSync } from 'node:fs';
import { InvalidArgumentError, Option } from 'commander';

/** Which cluster a command is about. */
export const clusterOption = (): Option =>
  new Option('-c, --cluster <file>', 'the cluster file').env('CERTROLL_CLUSTER').makeOptionMandatory();

/** A folder that is named and not there would be a cookbook silently taken from elsewhere. */
const existing = (folder: string): string => {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return folder;
  throw new InvalidArgumentError(`There is no folder '${folder}'.`);
};

/** Folders of the user's own cookbooks, searched before the shipped ones. */
export const cookbookDirOption = (): Option =>
  new Option('--cookbook-dir <folder>', 'a folder of your own cookbooks; may be given several times')
    .env('CERTROLL_COOKBOOKS')
    .argParser((value: string, before: readonly string[] | undefined) => [
      ...(before ?? []),
      ...value
        .split(':')
        .filter((folder) => folder !== '')
        .map(existing),
    ])
    .default([] as readonly string[], './cookbooks');

export const jsonOption = (): Option => new Option('--json', 'machine-readable output on standard output');

/** For cron, which mails whatever is printed. */
export const quietOption = (): Option =>
  new Option(
    '-q, --quiet',
    'print nothing but warnings and errors; nothing at all when all went well, when there was nothing to do, or while it waits (exit 7)',
  ).conflicts('json');

/** Where journals are kept. */
export const stateDirOption = (): Option =>
  new Option(
    '--state-dir <folder>',
    'where journals are kept (default: certroll in XDG_STATE_HOME, which is ~/.local/state unless set)',
  ).env('CERTROLL_STATE_DIR');
