import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { CACHE_DIR, isRoot } from './settings.js';

/** A program and what it needs in its environment. */
export interface Program {
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
  /** Top of the extracted packages, when it comes from there. */
  readonly root?: string;
}

/** Which Debian packages a program is in. */
interface Wanted {
  readonly program: string;
  /** By whoever runs the playground. */
  readonly chosen?: string | undefined;
  readonly packages: readonly string[];
  /** Where in the packages. */
  readonly inside: string;
}

const ETCD: Wanted = {
  program: 'etcd',
  chosen: process.env['ETCD'],
  packages: ['etcd-server'],
  inside: 'usr/bin/etcd',
};
/** Its library is not among those that every machine has. */
const SSHD: Wanted = { program: 'sshd', packages: ['openssh-server', 'libwrap0'], inside: 'usr/sbin/sshd' };

const isExecutable = async (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

const onPath = async (program: string): Promise<string | undefined> => {
  const folders = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/usr/bin', '/sbin'];
  for (const folder of folders.filter((name) => name !== '')) {
    const path = join(folder, program);
    if (await isExecutable(path)) return path;
  }
  return undefined;
};

const missing = (program: string, packages: readonly string[], why: string): Error =>
  new Error(
    `${program} is missing${why}. Install it and try again:\n  sudo apt-get install ${packages.join(' ')}`,
  );

/** apt with package lists of its own, for a machine that has none yet; the machine's are not touched. */
const ownLists = (folder: string): readonly string[] => [
  '-o',
  `Dir::State::Lists=${folder}/lists`,
  '-o',
  `Dir::Cache=${folder}/cache`,
];

const download = async (packages: readonly string[], folder: string): Promise<void> => {
  try {
    await execa('apt-get', ['download', ...packages], { cwd: folder });
  } catch {
    await mkdir(join(folder, 'lists/partial'), { recursive: true });
    await mkdir(join(folder, 'cache/archives/partial'), { recursive: true });
    await execa('apt-get', [...ownLists(folder), 'update'], { cwd: folder });
    await execa('apt-get', [...ownLists(folder), 'download', ...packages], { cwd: folder });
  }
};

/** Downloads Debian packages and unpacks them below the cache: nothing is installed, nothing is started. */
const extract = async ({ program, packages }: Wanted, root: string): Promise<void> => {
  await mkdir(CACHE_DIR, { recursive: true });
  const work = await mkdtemp(join(CACHE_DIR, `${program}-`));
  try {
    await download(packages, work);
    for (const file of await readdir(work))
      if (file.endsWith('.deb')) await execa('dpkg', ['-x', join(work, file), join(work, 'root')]);
    await rename(join(work, 'root'), root).catch((error: unknown) => {
      // Another playground was quicker.
      if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
};

const libraryPath = async (root: string): Promise<string> => {
  const folders = await readdir(join(root, 'usr/lib')).catch(() => []);
  return [...folders.map((name) => join(root, 'usr/lib', name)), join(root, 'usr/lib')].join(':');
};

const find = async (wanted: Wanted, say: (line: string) => void): Promise<Program> => {
  const installed = wanted.chosen ?? (await onPath(wanted.program));
  if (installed !== undefined) return { path: installed, env: {} };
  const root = join(CACHE_DIR, wanted.program);
  const path = join(root, wanted.inside);
  if (!(await isExecutable(path))) {
    say(`${wanted.program} is not installed: taking it out of its package, into ${CACHE_DIR}`);
    try {
      await extract(wanted, root);
    } catch (error) {
      const why = error instanceof Error ? (error.message.split('\n').at(-1) ?? '') : '';
      throw missing(wanted.program, wanted.packages, ` and cannot be downloaded (${why})`);
    }
  }
  const env = { LD_LIBRARY_PATH: await libraryPath(root) };
  const { stdout } = await execa('ldd', [path], { env, reject: false });
  const library = /(\S+) => not found/.exec(stdout)?.[1];
  if (library !== undefined)
    throw missing(wanted.program, wanted.packages, `: the one from its package lacks ${library}`);
  return { path, env, root };
};

/** The programs that a playground runs. */
export interface Programs {
  readonly etcd: Program;
  readonly sshd: Program;
}

/** Finds them, or takes them out of Debian's packages. Throws with the apt line that helps. */
export const findPrograms = async (say: (line: string) => void): Promise<Programs> => {
  const clients = [
    ['ssh', 'openssh-client'],
    ['ssh-keygen', 'openssh-client'],
    ['openssl', 'openssl'],
  ] as const;
  for (const [program, name] of clients)
    if ((await onPath(program)) === undefined) throw missing(program, [name], '');
  // For root, sshd wants a user of its own that only an installation makes.
  if (isRoot() && (await onPath('sshd')) === undefined) throw missing('sshd', ['openssh-server'], '');
  return { etcd: await find(ETCD, say), sshd: await find(SSHD, say) };
};
