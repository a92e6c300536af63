import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MARK } from './settings.js';

/** One process, beyond doubt: a pid may be another's by now, but not with the same start. */
export interface ProcessId {
  readonly pid: number;
  /** Clock ticks since boot, from /proc/PID/stat. */
  readonly start: string;
}

interface Stat {
  readonly parent: number;
  readonly start: string;
}

/** Undefined for a process that is not there, or that has ended and only waits to be reaped. */
const statOf = async (pid: number): Promise<Stat | undefined> => {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const words = text.slice(text.lastIndexOf(') ') + 2).split(' ');
  const [state = 'X', parent = '0'] = words;
  const start = words[19];
  return 'ZX'.includes(state) || start === undefined ? undefined : { parent: Number(parent), start };
};

const isAlive = async ({ pid, start }: ProcessId): Promise<boolean> => (await statOf(pid))?.start === start;

/** The process that `BASE.pid` and `BASE.start` name, when it still runs. */
export const readDaemon = async (base: string): Promise<ProcessId | undefined> => {
  const read = async (suffix: string): Promise<string> =>
    (await readFile(`${base}.${suffix}`, 'utf8').catch(() => '')).trim();
  const id = { pid: Number(await read('pid')), start: await read('start') };
  return id.pid > 1 && (await isAlive(id)) ? id : undefined;
};

/**
 * Starts a program that goes on when this one ends. Its pid and start go to `BASE.pid` and `BASE.start`, its output to
 * `BASE.log`.
 */
export const startDaemon = async (
  dir: string,
  base: string,
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<void> => {
  await mkdir(dirname(base), { recursive: true });
  const log = openSync(`${base}.log`, 'a', 0o600);
  const [program = '', ...args] = argv;
  const child = spawn(program, args, {
    cwd: dir,
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...process.env, ...env, [MARK]: dir },
  });
  closeSync(log);
  await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject));
  child.unref();
  const pid = child.pid ?? 0;
  await writeFile(`${base}.start`, `${(await statOf(pid))?.start ?? ''}\n`);
  await writeFile(`${base}.pid`, `${pid}\n`);
};

/** Waits until `isUp`; throws with the end of `BASE.log` when the process ended, or did not get there in time. */
export const waitForDaemon = async (
  what: string,
  base: string,
  isUp: (log: string) => boolean | Promise<boolean>,
  timeoutMs = 60_000,
): Promise<void> => {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    // In this order: a process that ends later was up when it was asked.
    const runs = await readDaemon(base);
    const log = await readFile(`${base}.log`, 'utf8').catch(() => '');
    if (runs && (await isUp(log))) return;
    if (!runs || Date.now() > deadline) {
      const why = runs ? `was not ready within ${timeoutMs / 1000} s` : 'did not start';
      throw new Error(
        `${what} ${why}. The end of ${base}.log:\n${log.trim().split('\n').slice(-12).join('\n')}`,
      );
    }
    await delay(30);
  }
};

const allProcesses = async (): Promise<readonly (ProcessId & Stat)[]> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(pids.map(async (pid) => ({ pid, stat: await statOf(pid) })));
  return found.flatMap(({ pid, stat }) => (stat ? [{ pid, ...stat }] : []));
};

const below = (all: readonly (ProcessId & Stat)[], root: number): readonly ProcessId[] =>
  all.filter(({ parent }) => parent === root).flatMap((child) => [child, ...below(all, child.pid)]);

const carriesMark = async (pid: number, dir: string): Promise<boolean> => {
  const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
  return environment.split('\0').includes(`${MARK}=${dir}`);
};

/** Everything that runs for the playground in this folder: what its pid files name, what those started, what carries its mark. */
export const findProcesses = async (dir: string, bases: readonly string[]): Promise<readonly ProcessId[]> => {
  const all = await allProcesses();
  const named = (await Promise.all(bases.map(readDaemon))).filter((id) => id !== undefined);
  const marked: ProcessId[] = [];
  for (const one of all) if (await carriesMark(one.pid, dir)) marked.push(one);
  const found = new Map(
    [...named, ...named.flatMap(({ pid }) => below(all, pid)), ...marked].map((id) => [id.pid, id]),
  );
  // The watchdog calls this for itself.
  found.delete(process.pid);
  return [...found.values()];
};

/** Ends all of it at once and waits until it is gone: nothing in it is worth an orderly end. */
export const endProcesses = async (dir: string, bases: readonly string[]): Promise<void> => {
  for (;;) {
    const found = await findProcesses(dir, bases);
    if (found.length === 0) break;
    for (const id of found) {
      if (!(await isAlive(id))) continue;
      try {
        process.kill(id.pid, 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
    await delay(20);
  }
  await Promise.all(
    bases.flatMap((base) => [`${base}.pid`, `${base}.start`].map((file) => rm(file, { force: true }))),
  );
};
