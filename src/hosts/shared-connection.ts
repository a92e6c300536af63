import { setTimeout as delay } from 'node:timers/promises';
import pLimit from 'p-limit';
import { messageOf } from '../core/errors.js';
import { calledOff, unreachable } from './ssh-errors.js';

/** Below sshd's MaxSessions (10 by default), so that others on the same connection count too. */
const MOST_AT_ONCE = 8;

/** How often a command is offered to a host that opens no channel for it now (a smaller MaxSessions). */
const MOST_TRIES = 20;

/** The command was not sent: the connection had ended before, or the server opened no channel. It may be tried again. */
export class NotSent extends Error {
  override readonly name = 'NotSent';
}

interface Connector<Connection> {
  open(signal: AbortSignal): Promise<Connection>;
  onEnd(connection: Connection, listener: () => void): void;
  close(connection: Connection): Promise<void>;
}

/**
 * One connection to a host that many commands share: opened by the first, opened anew when it has
 * ended, with a bounded number of commands at once.
 */
export class SharedConnection<Connection> {
  readonly #host: string;
  readonly #connector: Connector<Connection>;
  readonly #limit = pLimit(MOST_AT_ONCE);
  readonly #closing = new AbortController();
  #current: Promise<Connection> | undefined;

  constructor(host: string, connector: Connector<Connection>) {
    this.#host = host;
    this.#connector = connector;
  }

  /** The open connection. Callers share one attempt, so one caller's signal only ends that caller's wait. */
  async get(signal?: AbortSignal): Promise<Connection> {
    if (signal?.aborted) throw calledOff(this.#host, signal, false);
    const attempt = (this.#current ??= this.#open());
    if (signal === undefined) return attempt;
    let onAbort = (): void => undefined;
    const abort = new Promise<never>((_resolve, reject) => {
      onAbort = () => reject(calledOff(this.#host, signal, false));
      signal.addEventListener('abort', onAbort, { once: true });
    });
    try {
      return await Promise.race([attempt, abort]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Runs `work` on the connection; again, some time, when it throws `NotSent`. */
  use<Result>(work: (connection: Connection) => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    return this.#limit(async () => {
      for (let tries = 1; ; tries++) {
        const connection = await this.get(signal);
        if (signal?.aborted) throw calledOff(this.#host, signal, false);
        try {
          return await work(connection);
        } catch (error) {
          if (!(error instanceof NotSent)) throw error;
          if (tries === MOST_TRIES) throw unreachable(this.#host, messageOf(error), { cause: error });
        }
        await delay(25 * tries);
      }
    });
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the connection was closed'));
    const connection = await this.#current?.catch(() => undefined);
    if (connection !== undefined) await this.#connector.close(connection);
  }

  #open(): Promise<Connection> {
    const attempt = this.#connector.open(this.#closing.signal);
    const forget = (): void => {
      if (this.#current === attempt) this.#current = undefined;
    };
    attempt.then((connection) => this.#connector.onEnd(connection, forget), forget);
    return attempt;
  }
}
