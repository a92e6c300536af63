/** Part of the TTL after which a lease is not counted on any more without a keep-alive that was answered. */
export const SAFE_PART = 0.8;

export interface Moment {
  /** Monotonic milliseconds; may stand still while the machine sleeps. */
  readonly monotonic: number;
  /** Wall-clock milliseconds; goes on while the machine sleeps, and may be set back or forth. */
  readonly wall: number;
}

export type Clock = () => Moment;

export const systemClock: Clock = () => ({ monotonic: performance.now(), wall: Date.now() });

/**
 * Until when a lease may be counted on, by our own clocks: from the moment a keep-alive was *sent* that etcd answered,
 * never from the moment of the answer. By two clocks, the stricter of them, because a machine that slept has a monotonic
 * clock that did not see it. Once over, it stays over.
 */
export class LeaseDeadline {
  readonly #lengthMs: number;
  readonly #clock: Clock;
  #until: Moment;
  #over = false;

  /** `ttl` in seconds; `sentAt` is when the lease was asked for. */
  constructor(ttl: number, sentAt: Moment, clock: Clock = systemClock) {
    this.#lengthMs = ttl * 1000 * SAFE_PART;
    this.#clock = clock;
    this.#until = this.#after(sentAt);
  }

  /** A keep-alive sent at that moment was answered. False when it came too late. */
  renew(sentAt: Moment): boolean {
    if (this.left() === 0) return false;
    const next = this.#after(sentAt);
    // Answers may overtake each other; an older one says nothing new.
    if (next.monotonic > this.#until.monotonic) this.#until = next;
    return true;
  }

  /** Milliseconds left by the stricter of the two clocks; 0 when it is over. */
  left(): number {
    const now = this.#clock();
    const left = Math.min(this.#until.monotonic - now.monotonic, this.#until.wall - now.wall);
    if (left <= 0) this.#over = true;
    return this.#over ? 0 : left;
  }

  #after({ monotonic, wall }: Moment): Moment {
    return { monotonic: monotonic + this.#lengthMs, wall: wall + this.#lengthMs };
  }
}
