import { execa } from 'execa';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT } from './build.js';

export interface Finished {
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** One event of `certroll run --json`. */
export interface JsonEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface StartOptions {
  /** Environment on top of a bare one: PATH and HOME only. */
  readonly env?: Readonly<Record<string, string>>;
  readonly onEvent?: (event: JsonEvent, child: Running) => void;
  readonly stateDir?: string;
  readonly cwd?: string;
}

export interface Running {
  readonly pid: number | undefined;
  kill(signal: NodeJS.Signals): void;
  readonly finished: Promise<Finished>;
}

/** Starts the command line in a process of its own, with no terminal. */
export const start = async (args: readonly string[], options: StartOptions = {}): Promise<Running> => {
  const stateDir = options.stateDir ?? (await mkdtemp(join(tmpdir(), 'certroll-state-')));
  const child = execa(process.execPath, [join(ROOT, 'bin/certroll.js'), ...args], {
    cwd: options.cwd ?? tmpdir(),
    reject: false,
    stdin: 'ignore',
    extendEnv: false,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: process.env['HOME'] ?? '',
      CERTROLL_STATE_DIR: stateDir,
      ...options.env,
    },
  });
  const running: Running = {
    pid: child.pid,
    kill: (signal) => void child.kill(signal),
    finished: child.then(({ exitCode, signal, stdout, stderr }) => ({
      exitCode,
      signal,
      stdout,
      stderr,
    })),
  };
  const { onEvent } = options;
  if (onEvent) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.startsWith('{')) onEvent(JSON.parse(line) as JsonEvent, running);
    });
  }
  return running;
};

/** Runs the command line to its end. */
export const certroll = async (args: readonly string[], options: StartOptions = {}): Promise<Finished> =>
  (await start(args, options)).finished;

/** The last line of `--json` output. */
export const resultOf = (finished: Finished): Record<string, unknown> => {
  const last = finished.stdout.trim().split('\n').at(-1) ?? '';
  return JSON.parse(last) as Record<string, unknown>;
};
