import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export const ETCDCTL = '/usr/bin/etcdctl';

/** A running `etcdctl lock`. */
export class CtlLock {
  readonly #process: ChildProcess;
  readonly #exited: Promise<unknown>;
  /** The key it holds, once it does. Rejects when it ends before. */
  readonly key: Promise<string>;

  constructor(args: readonly string[]) {
    this.#process = spawn(ETCDCTL, args, {
      env: { ...process.env, ETCDCTL_API: '3' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.#exited = once(this.#process, 'exit');
    this.key = firstLine(this.#process);
    // Not every test looks.
    this.key.catch(() => undefined);
  }

  /** Gives the lock back, as Ctrl-C does. */
  async release(): Promise<void> {
    this.#process.kill('SIGINT');
    await this.#exited;
  }

  /** The process dies and its lease runs on. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#exited;
  }
}

/** Runs etcdctl with these arguments, whatever etcd they name. */
export const runCtl = async (args: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    execFile(ETCDCTL, args, { env: { ...process.env, ETCDCTL_API: '3' } }, (error, stdout) => {
      if (error) reject(error instanceof Error ? error : new Error('etcdctl failed'));
      else resolve(stdout);
    });
  });

const firstLine = async ({ stdout }: ChildProcess): Promise<string> => {
  if (!stdout) throw new Error('started without its stdout');
  for await (const line of createInterface({ input: stdout })) return line;
  throw new Error('etcdctl ended before it had the lock');
};
