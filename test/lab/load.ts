import { fork, type ChildProcess } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { LoadCounts } from './load/counts.js';
import type { Flavour } from './topology.js';

export type { LoadCounts } from './load/counts.js';

interface Report {
  readonly counts?: LoadCounts;
  readonly final?: LoadCounts;
}

/** Clients of the cluster, in a process of their own so that a busy test does not slow them down. */
export class Load {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /**
   * Starts the clients and returns once they have looked around. They end by themselves after `maxSeconds`,
   * or when this process ends.
   */
  static async start(
    options: {
      readonly maxSeconds?: number;
      /** Milliseconds between two rounds of the clients that ask each apiserver at its own address. */
      readonly tickMs?: number;
      readonly flavour?: Flavour;
    } = {},
  ): Promise<Load> {
    const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
    const child = fork(
      fileURLToPath(new URL('./load/worker.ts', import.meta.url)),
      [String(options.maxSeconds ?? 900), String(options.tickMs ?? 50), options.flavour ?? 'systemd'],
      {
        execArgv: ['--import', loader],
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      },
    );
    const load = new Load(child);
    await load.#message((message) => (message === 'ready' ? true : undefined));
    return load;
  }

  /** What was seen up to now. */
  async counts(): Promise<LoadCounts> {
    const answer = this.#message((message) => (message as Report).counts);
    this.#child.send('counts');
    return answer;
  }

  /** Ends the clients; requests under way are waited for. */
  async stop(): Promise<LoadCounts> {
    const answer = this.#message((message) => (message as Report).final);
    this.#child.send('stop');
    return answer;
  }

  /** The first message of the wanted kind. Rejects when the process ends without one. */
  #message<T>(pick: (message: unknown) => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const onMessage = (message: unknown): void => {
        const picked = pick(message);
        if (picked === undefined) return;
        this.#child.off('message', onMessage).off('exit', onExit);
        resolve(picked);
      };
      const onExit = (code: number | null): void =>
        reject(new Error(`The load clients ended with ${code ?? 'a signal'}`));
      this.#child.on('message', onMessage).once('exit', onExit);
    });
  }
}
