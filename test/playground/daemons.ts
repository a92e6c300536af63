import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** Starts a program that goes on when this one ends; its output goes to a log, its pid to a file. */
export const startDaemon = async (
  argv: readonly string[],
  files: { readonly pid: string; readonly log: string },
): Promise<void> => {
  await mkdir(dirname(files.pid), { recursive: true });
  const log = openSync(files.log, 'a');
  const [program = '', ...args] = argv;
  const child = spawn(program, args, { detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject));
  child.unref();
  await writeFile(files.pid, `${child.pid ?? ''}\n`);
};

const commandLine = async (pid: number): Promise<string> =>
  readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');

/** True when that pid is still a process of the playground in this folder: another one may have got the number since. */
const isOurs = async (pid: number, dir: string): Promise<boolean> => (await commandLine(pid)).includes(dir);

const end = async (pid: number, dir: string): Promise<void> => {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (!(await isOurs(pid, dir))) return;
    try {
      process.kill(pid, signal);
    } catch {
      return;
    }
    for (let tries = 0; tries < 60 && (await isOurs(pid, dir)); tries += 1) await delay(50);
  }
};

/** Ends every process that the pid files of a playground name, and that is still its own. */
export const endDaemons = async (dir: string, pids: string): Promise<number> => {
  const files = await readdir(pids).catch(() => []);
  const numbers = await Promise.all(
    files.map(async (file) => Number(await readFile(join(pids, file), 'utf8'))),
  );
  const own = [];
  for (const pid of numbers) if (pid > 1 && pid !== process.pid && (await isOurs(pid, dir))) own.push(pid);
  await Promise.all(own.map(async (pid) => end(pid, dir)));
  await rm(pids, { recursive: true, force: true });
  return own.length;
};

/** Which of the daemons run: name of the pid file → running. */
export const listDaemons = async (dir: string, pids: string): Promise<ReadonlyMap<string, boolean>> => {
  const files = await readdir(pids).catch(() => []);
  const states = files.map(
    async (file) => [file, await isOurs(Number(await readFile(join(pids, file), 'utf8')), dir)] as const,
  );
  return new Map(await Promise.all(states));
};
