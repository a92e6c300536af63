import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { descendants } from '../support/sshd.js';

/** What a command cost, and what it said. */
export interface Measured {
  readonly wallS: number;
  /** User and system time of the command and of all it started and waited for. */
  readonly cpuS: number;
  /** Highest sum over its process tree of proportional set sizes: what several processes share counts once. */
  readonly memoryMb: number;
  /** Highest sum of resident set sizes: what they share counts for each. */
  readonly residentMb: number;
  /** Resident set of its largest process. */
  readonly largestMb: number;
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

export interface MeasureOptions {
  readonly env: Readonly<Record<string, string>>;
  /** A folder for what the command says. */
  readonly dir: string;
  readonly signal: AbortSignal;
}

/** Seldom enough to cost the machine next to nothing, often enough to meet the height of a run that takes seconds. */
const SAMPLE_MS = 500;

/** The shell waits for the command, and the kernel tells it what the command and its children took. */
const TIMED = `TIMEFORMAT='%R %U %S'
{ time "$@" >"$OUTPUT" 2>"$ERRORS"; } 2>"$TIMES"`;

/** Runs a command to its end and measures it. Throws when it is called off. */
export const measure = async (
  argv: readonly string[],
  { env, dir, signal }: MeasureOptions,
): Promise<Measured> => {
  const files = { OUTPUT: join(dir, 'output'), ERRORS: join(dir, 'errors'), TIMES: join(dir, 'times') };
  // A group of its own, so that all of it can be ended.
  const shell = spawn('bash', ['-c', TIMED, 'bash', ...argv], {
    ...{ env: { ...env, ...files }, cwd: dir, detached: true, stdio: 'ignore' },
  });
  const ended = once(shell, 'exit') as Promise<[number | null]>;
  const pid = shell.pid ?? 0;
  const end = (): void => void process.kill(-pid, 'SIGKILL');
  signal.addEventListener('abort', end, { once: true });
  const memory = await watch(pid, ended);
  const [code] = await ended;
  signal.removeEventListener('abort', end);
  signal.throwIfAborted();
  const [wall, user, system] = (await readFile(files.TIMES, 'utf8'))
    .trim()
    .split(/\s+/)
    .slice(-3)
    .map(Number);
  return {
    ...memory,
    wallS: wall ?? NaN,
    cpuS: (user ?? NaN) + (system ?? NaN),
    exitCode: code ?? undefined,
    stdout: await readFile(files.OUTPUT, 'utf8'),
    stderr: await readFile(files.ERRORS, 'utf8'),
  };
};

type Memory = Pick<Measured, 'memoryMb' | 'residentMb' | 'largestMb'>;

/**
 * The heights of a process tree's memory, without its root, until it has ended. Each look is taken in one go: workers that
 * live for a second would be gone before a look that waits in between came to them.
 */
const watch = async (root: number, ended: Promise<unknown>): Promise<Memory> => {
  const state = { isOver: false };
  void ended.then(() => (state.isOver = true));
  const most = { memoryMb: 0, residentMb: 0, largestMb: 0 };
  while (!state.isOver) {
    const sizes = descendants(root).map(sizesOf);
    const sum = (name: 'pss' | 'rss'): number => sizes.reduce((total, size) => total + size[name], 0);
    most.memoryMb = Math.max(most.memoryMb, sum('pss'));
    most.residentMb = Math.max(most.residentMb, sum('rss'));
    most.largestMb = Math.max(most.largestMb, ...sizes.map(({ rss }) => rss));
    await Promise.race([delay(SAMPLE_MS), ended]);
  }
  return most;
};

const rollup = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  } catch {
    return '';
  }
};

/** Of one process, in MB; nothing when it has ended meanwhile. */
const sizesOf = (pid: number): { readonly rss: number; readonly pss: number } => {
  const text = rollup(pid);
  const size = (name: string): number =>
    Number(new RegExp(`^${name}: *(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) / 1000;
  return { rss: size('Rss'), pss: size('Pss') };
};
