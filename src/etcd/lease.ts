import type { Etcd3 } from 'etcd3';
import { CertrollError, messageOf } from '../core/errors.js';
import { LeaseDeadline, systemClock } from './lease-deadline.js';
import type { CallOptions, Members } from './members.js';

/** Longest time between two looks at the clocks: timers do not see that the machine slept. */
const WATCHDOG_MS = 1000;
const RETRY_MS = 100;

export interface LeaseOptions {
  /** Seconds. */
  readonly ttl: number;
  /** Names the lock in errors. */
  readonly lock: string;
  readonly signal?: AbortSignal;
}

/**
 * A lease that is kept alive until it is revoked, and that knows by itself, without an answer from etcd, when it can no
 * longer be counted on. etcd3's own keep-alive gives up only after twice the TTL, when others have long been let in.
 */
export class Lease {
  /** Decimal, as etcd3 gives it. */
  readonly id: string;
  readonly #members: Members;
  readonly #options: LeaseOptions;
  readonly #deadline: LeaseDeadline;
  readonly #lost = new AbortController();
  readonly #over = new AbortController();
  #stillOurs: () => Promise<boolean> = async () => Promise.resolve(true);
  #last = 'etcd answered no keep-alive in time';
  #timer: NodeJS.Timeout | undefined;
  #watchdog: NodeJS.Timeout | undefined;

  private constructor(members: Members, id: string, deadline: LeaseDeadline, options: LeaseOptions) {
    this.id = id;
    this.#members = members;
    this.#options = options;
    this.#deadline = deadline;
    this.#watch();
    this.#next(this.#third);
  }

  static async grant(members: Members, options: LeaseOptions): Promise<Lease> {
    const ttl = Math.ceil(options.ttl);
    const sentAt = systemClock();
    const granted = await members.call(
      `get a lease for the lock ${options.lock}`,
      async (client, call) => client.leaseClient.leaseGrant({ TTL: String(ttl), ID: 0 }, call),
      options,
    );
    return new Lease(members, granted.ID, new LeaseDeadline(ttl, sentAt), { ...options, ttl });
  }

  /** Aborted with a `lock.lost` error as soon as the lease can no longer be counted on. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Aborted when the lease is lost or given back. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** From now on a keep-alive counts only when this says, after it, that the lock's key is still there. */
  confirmWith(stillOurs: () => Promise<boolean>): void {
    this.#stillOurs = stillOurs;
  }

  /** Milliseconds until the own deadline; 0 when it has passed or the lease was lost. No I/O. */
  leftMs(): number {
    return this.lost.aborted ? 0 : this.#deadline.left();
  }

  /** Throws `lock.lost` when the deadline has passed or the lease was given back. No I/O. */
  assertAlive(): void {
    if (this.#deadline.left() === 0) this.lose(this.#last);
    this.#lost.signal.throwIfAborted();
    if (this.#over.signal.aborted) throw this.#error('it was given back');
  }

  /** Declares the lease lost, for a reason seen here or elsewhere. */
  lose(why: string): void {
    if (this.#over.signal.aborted) return;
    this.#lost.abort(this.#error(why));
    this.#end();
  }

  /** Ends the keep-alives and gives the lease back; its keys go with it. Never throws: a lease runs out by itself. */
  async revoke(): Promise<void> {
    this.#end();
    await this.#members
      .call(
        'give the lease back',
        async (client, call) => client.leaseClient.leaseRevoke({ ID: this.id }, call),
        { brief: true },
      )
      .catch(() => undefined);
  }

  get #third(): number {
    return (this.#options.ttl * 1000) / 3;
  }

  async #keepAlive(): Promise<void> {
    const sentAt = systemClock();
    try {
      const ttl = await this.#members.call(
        `keep the lock ${this.#options.lock}`,
        async (client, call) => keepAliveOnce(client, this.id, call),
        { timeoutMs: (this.#options.ttl * 1000) / 5, signal: this.over, brief: true },
      );
      // A member that still takes itself for the leader may renew what the others have let go; a read through a
      // majority cannot be wrong in that way.
      if (ttl <= 0 || !(await this.#stillOurs())) this.lose('etcd has it no more');
      else if (!this.#deadline.renew(sentAt)) this.lose(this.#last);
      this.#watch();
      this.#next(this.#third);
    } catch (thrown) {
      // The watchdog decides when this has gone on for too long.
      this.#last = `etcd answered no keep-alive in time: ${messageOf(thrown)}`;
      this.#next(RETRY_MS);
    }
  }

  #next(ms: number): void {
    if (!this.over.aborted) this.#timer = setTimeout(() => void this.#keepAlive(), ms);
  }

  #watch(): void {
    clearTimeout(this.#watchdog);
    if (this.over.aborted) return;
    const left = this.#deadline.left();
    if (left === 0) this.lose(this.#last);
    else this.#watchdog = setTimeout(() => this.#watch(), Math.min(left, WATCHDOG_MS));
  }

  #end(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#watchdog);
    this.#over.abort();
  }

  #error(why: string): CertrollError {
    return new CertrollError(`the lock ${this.#options.lock} is no longer held: ${why}`, {
      code: 'lock.lost',
      hint: "Nothing more was sent. See that etcd is healthy ('etcdctl endpoint status'), then run again.",
    });
  }
}

/** One keep-alive and its answer: the TTL that etcd gave, in seconds; 0 or less when the lease is gone. */
const keepAliveOnce = async (client: Etcd3, id: string, call: CallOptions): Promise<number> => {
  const stream = await client.leaseClient.leaseKeepAlive(call);
  try {
    return await new Promise<number>((resolve, reject) => {
      stream.on('data', (answer) => resolve(Number(answer.TTL)));
      stream.on('error', reject);
      stream.on('end', () => reject(new Error('the keep-alive ended without an answer')));
      stream.write({ ID: id });
    });
  } finally {
    stream.end();
  }
};
