import pLimit from 'p-limit';
import type { Client } from 'ssh2';
import { commandLine } from './command-line.js';
import { openConnection, type ConnectOptions } from './ssh2-connection.js';
import { ChannelRefused, execOn } from './ssh2-exec.js';
import { calledOff, unreachable } from './ssh-errors.js';
import type { SshTarget } from './ssh-config.js';
import type { ExecOptions, ExecResult, Transport } from './transport.js';

/** Below sshd's MaxSessions (10 by default), so that others on the same connection count too. */
const MOST_CHANNELS = 8;

/** How often to wait for a channel on a host that allows fewer. */
const CHANNEL_TRIES = 20;

/** Runs commands over one connection of the ssh2 library, kept open between them. */
export class Ssh2Transport implements Transport {
  readonly #target: SshTarget;
  readonly #options: Omit<ConnectOptions, 'signal'>;
  readonly #limit = pLimit(MOST_CHANNELS);
  readonly #closing = new AbortController();
  #client: Promise<Client> | undefined;

  constructor(target: SshTarget, options: Omit<ConnectOptions, 'signal'>) {
    this.#target = target;
    this.#options = options;
  }

  get target(): Transport['target'] {
    return this.#target;
  }

  async connect(signal?: AbortSignal): Promise<void> {
    await this.#connected(signal);
  }

  exec(words: readonly string[], options: ExecOptions): Promise<ExecResult> {
    const line = commandLine(words);
    return this.#limit(async () => {
      for (let tries = 1; ; tries++) {
        if (options.signal?.aborted) throw calledOff(this.#target.name, options.signal, false);
        const client = await this.#connected(options.signal);
        try {
          return await execOn(client, this.#target.name, line, options);
        } catch (error) {
          if (!(error instanceof ChannelRefused)) throw error;
          if (tries === CHANNEL_TRIES)
            throw unreachable(this.#target.name, `no channel for a command: ${error.message}`, {
              cause: error,
            });
        }
        await new Promise((resolve) => setTimeout(resolve, 50 * tries));
      }
    });
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the connection was closed'));
    const client = await this.#client?.catch(() => undefined);
    if (client === undefined) return;
    await new Promise<void>((resolve) => {
      client.once('close', resolve);
      client.end();
    });
  }

  /**
   * The open connection, or a new one after the last one ended. Callers share one attempt, so one
   * caller's signal only ends that caller's wait.
   */
  async #connected(signal: AbortSignal | undefined): Promise<Client> {
    const attempt = (this.#client ??= this.#open());
    if (signal === undefined) return attempt;
    let onAbort: (() => void) | undefined;
    const abort = new Promise<never>((_resolve, reject) => {
      onAbort = () => reject(calledOff(this.#target.name, signal, false));
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
    });
    try {
      return await Promise.race([attempt, abort]);
    } finally {
      if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
    }
  }

  #open(): Promise<Client> {
    const attempt = openConnection(this.#target, { ...this.#options, signal: this.#closing.signal });
    const forget = (): void => {
      if (this.#client === attempt) this.#client = undefined;
    };
    attempt.then((client) => client.on('close', forget), forget);
    return attempt;
  }
}
