import type { Etcd3 } from 'etcd3';
import { CertrollError } from '../core/errors.js';
import { LeaseDeadline } from './lease-deadline.js';
import type { CallOptions, Members } from './members.js';

/** One keep-alive and its answer; the TTL that etcd gave, in seconds, 0 when the lease is gone. */
const keepAliveOnce = async (client: Etcd3, id: string, options: CallOptions): Promise<number> => {
  const stream = await client.leaseClient.leaseKeepAlive(options);
  try {
    return await new Promise<number>((resolve, reject) => {
      stream.on('data', (answer) => resolve(Number(answer.TTL)));
      stream.on('error', reject);
      stream.on('end', () => reject(new Error('the keep-alive stream ended without an answer')));
      stream.write({ ID: id });
    });
  } finally {
    stream.end();
  }
};

/**
 * A lease that is kept alive until it is revoked, and that knows by itself, without an answer from etcd, when it can no
 * longer be counted on.
 */
export class Lease {
  readonly id: string;
  readonly #members: Members;
  readonly #ttl: number;
  readonly #deadline: LeaseDeadline;
  readonly #lost = new AbortController();
  readonly #what: string;
  #timer: NodeJS.Timeout | undefined;
  #watchdog: NodeJS.Timeout | undefined;
  #ended = false;

  private constructor(members: Members, id: string, ttl: number, deadline: LeaseDeadline, what: string) {
    this.#members = members;
    this.id = id;
    this.#ttl = ttl;
    this.#deadline = deadline;
    this.#what = what;
    this.#watch();
    this.#timer = setTimeout(() => void this.#keepAlive(), (ttl * 1000) / 3);
  }

  /** `ttl` in seconds; `what` names the lock in errors. */
  static async grant(members: Members, ttl: number, what: string): Promise<Lease> {
    const sentAt = LeaseDeadline.mark();
    const granted = await members.call('get a lease', async (client, options) =>
      client.leaseClient.leaseGrant({ TTL: String(ttl), ID: 0 }, options),
    );
    return new Lease(members, granted.ID, ttl, new LeaseDeadline(ttl, sentAt), what);
  }

  /** Aborted with a `lock.lost` error as soon as the lease can no longer be counted on. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Throws `lock.lost` when the deadline has passed. No I/O. */
  assertAlive(): void {
    if (!this.#lost.signal.aborted && this.#deadline.left() === 0)
      this.#lose('etcd answered no keep-alive in time');
    this.#lost.signal.throwIfAborted();
  }

  /** Declares the lease lost, for a reason that was seen elsewhere. */
  lose(why: string): void {
    this.#lose(why);
  }

  /** Ends the keep-alives and gives the lease back; its keys go with it. Never throws: the lease runs out by itself. */
  async revoke(): Promise<void> {
    this.#end();
    await this.#members
      .call('give the lease back', async (client, options) =>
        client.leaseClient.leaseRevoke({ ID: this.id }, options),
      )
      .catch(() => undefined);
  }

  async #keepAlive(): Promise<void> {
    if (this.#ended) return;
    const sentAt = LeaseDeadline.mark();
    try {
      const ttl = await this.#members.call(
        'keep the lease alive',
        async (client, options) => keepAliveOnce(client, this.id, options),
        (this.#ttl * 1000) / 5,
      );
      if (ttl <= 0) {
        this.#lose('its lease has ended on etcd');
        return;
      }
      this.#deadline.renew(sentAt);
      this.#watch();
      this.#again((this.#ttl * 1000) / 3);
    } catch {
      // The watchdog decides when this has gone on for too long.
      this.#again(100);
    }
  }

  #again(ms: number): void {
    if (!this.#ended) this.#timer = setTimeout(() => void this.#keepAlive(), ms);
  }

  #watch(): void {
    clearTimeout(this.#watchdog);
    if (this.#ended) return;
    this.#watchdog = setTimeout(() => {
      if (this.#deadline.left() > 0) this.#watch();
      else this.#lose('etcd answered no keep-alive in time');
    }, this.#deadline.left() + 1);
  }

  #lose(why: string): void {
    if (this.#ended) return;
    this.#end();
    this.#lost.abort(
      new CertrollError(`the lock ${this.#what} was lost: ${why}`, {
        code: 'lock.lost',
        hint: 'Nothing more was sent. See that etcd is healthy (etcdctl endpoint status), then run again.',
      }),
    );
  }

  #end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#watchdog);
  }
}
