import { readFile, readdir } from 'node:fs/promises';
import { until } from './wait.js';

const readOr = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');

/** Pids of this machine's processes whose arguments satisfy the test. */
export const findProcesses = async (test: (argv: readonly string[]) => boolean): Promise<number[]> => {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const argv = (await readOr(`/proc/${name}/cmdline`)).split('\0').slice(0, -1);
    if (argv.length > 0 && test(argv)) found.push(Number(name));
  }
  return found;
};

/** True when the root of the process, by its mounts, is an overlay with that upper folder. */
const hasRoot = (mounts: string, upperFolder: string): boolean =>
  mounts.split('\n').some((line) => line.split(' ')[4] === '/' && line.includes(`upperdir=${upperFolder},`));

/**
 * The init of a container, seen from outside: PID 1 of its own world, whose root is that overlay. Found by
 * what it is and not as a child of its nspawn, because it outlives an nspawn that was killed. A pod's first
 * process is PID 1 too, and has folders of that overlay mounted, but another root.
 */
export const findInit = async (upperFolder: string): Promise<number | undefined> => {
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const [, pids] = /^NSpid:\s+(.*)$/m.exec(await readOr(`/proc/${name}/status`)) ?? [];
    const inside = pids?.split(/\s+/) ?? [];
    if (inside.length < 2 || inside.at(-1) !== '1') continue;
    const mounts = await readOr(`/proc/${name}/mountinfo`);
    if (hasRoot(mounts, upperFolder)) return Number(name);
  }
  return undefined;
};

/** Sends a signal to one process; quiet when it is gone already. */
export const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
};

/** A process that is gone, or only waits for its parent to take note (a zombie). */
const hasEnded = async (pid: number): Promise<boolean> => {
  const [, state] = /^State:\s+(\S)/m.exec(await readOr(`/proc/${pid}/status`)) ?? [];
  return state === undefined || state === 'Z';
};

export const waitForEnd = async (pid: number, seconds: number): Promise<void> => {
  await until(`process ${pid} ends`, seconds, () => hasEnded(pid), 50);
};
