import { noop } from 'cockatiel';
import { Etcd3, type IOptions } from 'etcd3';
import { etcdFailure, isPassing } from './failures.js';

/** What a call may take: passed on to gRPC. */
export interface CallOptions {
  readonly deadline: number;
}

export type MembersOptions = Omit<IOptions, 'hosts'> & {
  readonly endpoints: readonly string[];
  /** Milliseconds that one member may take to answer. */
  readonly timeoutMs: number;
};

/**
 * The members of an etcd cluster, one client each. A call goes to the member that answered last; when that one hangs
 * or is down, to the next. etcd3's own choice among several hosts is random and may stay on a member that hangs.
 */
export class Members {
  readonly endpoints: readonly string[];
  readonly #clients: readonly Etcd3[];
  readonly #timeoutMs: number;
  #current = 0;

  constructor({ endpoints, timeoutMs, ...options }: MembersOptions) {
    this.endpoints = endpoints;
    this.#timeoutMs = timeoutMs;
    // No retries or circuit breakers of etcd3's own: they would hold calls back from a member that is up again.
    const faultHandling = { host: () => noop, global: noop };
    this.#clients = endpoints.map((hosts) => new Etcd3({ ...options, hosts, faultHandling }));
  }

  /** Makes a call, on each member in turn until one answers. Throws `etcd.*` for the last failure; `what` completes "could not …". */
  async call<T>(
    what: string,
    use: (client: Etcd3, options: CallOptions) => Promise<T>,
    timeoutMs = this.#timeoutMs,
  ): Promise<T> {
    let last: unknown;
    for (let tried = 0; tried < this.#clients.length; tried += 1) {
      const at = (this.#current + tried) % this.#clients.length;
      const client = this.#clients[at];
      if (!client) break;
      try {
        const answer = await use(client, { deadline: Date.now() + timeoutMs });
        this.#current = at;
        return answer;
      } catch (thrown) {
        last = thrown;
        if (!isPassing(thrown)) break;
      }
    }
    throw etcdFailure(what, this.endpoints, last);
  }

  close(): void {
    for (const client of this.#clients) client.close();
  }
}
