/** Part of the TTL after which the lock is not counted on any more without a keep-alive that was answered. */
const SAFE_PART = 0.8;

export interface Clock {
  /** Monotonic milliseconds; may stand still while the machine sleeps. */
  readonly monotonic: () => number;
  /** Wall-clock milliseconds; goes on while the machine sleeps. */
  readonly wall: () => number;
}

export const systemClock: Clock = { monotonic: () => performance.now(), wall: () => Date.now() };

/**
 * Until when a lease may be counted on, by our own clocks: from the moment a keep-alive was *sent* that etcd answered,
 * never from the moment of the answer. Two clocks, because a machine that slept has a monotonic clock that did not see it.
 */
export class LeaseDeadline {
  readonly #lengthMs: number;
  readonly #clock: Clock;
  #until: { readonly monotonic: number; readonly wall: number };

  /** `ttl` in seconds. */
  constructor(
    ttl: number,
    sentAt: { readonly monotonic: number; readonly wall: number },
    clock: Clock = systemClock,
  ) {
    this.#lengthMs = ttl * 1000 * SAFE_PART;
    this.#clock = clock;
    this.#until = this.#from(sentAt);
  }

  /** The moment before a keep-alive is sent. */
  static mark(clock: Clock = systemClock): { readonly monotonic: number; readonly wall: number } {
    return { monotonic: clock.monotonic(), wall: clock.wall() };
  }

  /** A keep-alive sent at that moment was answered. Never shortens the deadline. */
  renew(sentAt: { readonly monotonic: number; readonly wall: number }): void {
    const next = this.#from(sentAt);
    if (next.monotonic > this.#until.monotonic) this.#until = next;
  }

  /** Milliseconds left by the stricter of the two clocks; 0 when it is over. */
  left(): number {
    return Math.max(
      0,
      Math.min(this.#until.monotonic - this.#clock.monotonic(), this.#until.wall - this.#clock.wall()),
    );
  }

  #from(mark: { readonly monotonic: number; readonly wall: number }): {
    readonly monotonic: number;
    readonly wall: number;
  } {
    return { monotonic: mark.monotonic + this.#lengthMs, wall: mark.wall + this.#lengthMs };
  }
}
