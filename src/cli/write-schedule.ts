import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { loadCluster } from '../cluster/load.js';
import { clusterFiles } from '../cluster/fleet.js';
import { CertrollError, EXIT } from '../core/errors.js';
import { writeAtomically } from '../core/write-atomically.js';
import { scheduleFiles } from '../report/audit-schedule.js';
import type { InitFlags } from './commands/init.js';
import { print } from './session.js';

const wrong = (message: string, hint: string): CertrollError =>
  new CertrollError(message, { code: 'usage', exit: EXIT.usage, hint });

/** The cluster's own name, or that of the folder or fleet file, in letters that a unit's name may have. */
const nameFor = async (path: string): Promise<string> => {
  const files = await clusterFiles(path);
  const [only] = files;
  if (only !== undefined && resolve(only) === resolve(path)) return (await loadCluster(path)).name;
  const name = basename(resolve(path)).replace(/\.ya?ml$/, '');
  return (
    name
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-|-$/g, '') || 'fleet'
  );
};

const isOther = (path: string, text: string): boolean =>
  existsSync(path) && readFileSync(path, 'utf8') !== text;

/** `certroll init --systemd`. Throws `usage` (exit 2) rather than replace a file. */
export const writeSchedule = async (flags: InitFlags): Promise<number> => {
  const { cluster, output = '.' } = flags;
  if (cluster === undefined)
    throw wrong(
      "required option '-c, --cluster <file>' not specified",
      'Give it, or set CERTROLL_CLUSTER: it is what the service audits.',
    );
  if (!/^[a-z_][a-z0-9_-]*\$?$/.test(flags.user))
    throw wrong(`'${flags.user}' is not the name of a user`, 'Give --user a name such as certroll.');
  const metricsFolder = resolve(flags.metricsFolder);
  if (/[\r\n]/.test(metricsFolder + resolve(cluster)))
    throw wrong('a path with a line end cannot stand in a unit', 'Name the files otherwise.');
  const files = scheduleFiles({
    name: await nameFor(cluster),
    program: [process.execPath, realpathSync(process.argv[1] ?? '')],
    cluster: resolve(cluster),
    user: flags.user,
    metricsFolder,
    ...(flags.secrets === true && { secrets: true }),
  });
  // The rules are the same for every cluster: what is there already as it would be written is no reason to stop.
  const there = [...files].flatMap(([name, text]) => (isOther(join(output, name), text) ? [name] : []));
  if (there.length > 0 && flags.force !== true)
    throw wrong(`${join(output, there[0] ?? '')} exists`, 'Give --force to replace it, or another --output.');
  await mkdir(output, { recursive: true });
  for (const [name, text] of files) {
    await writeAtomically(join(output, name), text);
    print(join(output, name));
  }
  return EXIT.done;
};
