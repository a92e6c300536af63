/** Random numbers from a seed (mulberry32): a run that failed can be had again. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to, and without, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }
}

/** Somebody who acts on the cluster: a run of certroll, another automation. */
export class Actor {
  /** Killed with -9: what it was about to do does not happen. */
  isDead = false;
  /** Virtual milliseconds until which it is stopped (SIGSTOP). */
  pausedUntil = 0;

  constructor(readonly name: string) {}

  isStopped(now: number): boolean {
    return this.isDead || this.pausedUntil > now;
  }
}

interface Waiting {
  readonly actor: Actor;
  readonly go: () => void;
}

/**
 * Lets actors go on one step at a time, in an order that the seed decides. Time is virtual: it passes between steps,
 * and jumps when all actors are stopped.
 */
export class Scheduler {
  now: number;
  #waiting: Waiting[] = [];
  #going: ReadonlySet<Actor> = new Set();

  constructor(
    readonly random: Random,
    start: number,
    /** Called whenever time has passed, before the next step. */
    readonly onTime: () => void,
  ) {
    this.now = start;
  }

  /**
   * Comes back when it is the actor's turn; never, when it was killed meanwhile, or has ended: what it had begun beside
   * ends with its process.
   */
  step(actor: Actor): Promise<void> {
    return new Promise((resolve) => {
      if (this.#going.has(actor)) this.#waiting.push({ actor, go: resolve });
    });
  }

  /** Runs actors until each has ended or was killed. Rejects with what an actor rejects with. */
  async run(actors: readonly (readonly [Actor, () => Promise<void>])[]): Promise<void> {
    let failure: { readonly error: unknown } | undefined;
    const going = new Set(actors.map(([actor]) => actor));
    this.#going = going;
    for (const [actor, act] of actors) {
      act().then(
        () => going.delete(actor),
        (error: unknown) => {
          failure ??= { error };
          going.delete(actor);
        },
      );
    }
    while (going.size > 0 && !failure) {
      // All that can happen without a turn happens first.
      await new Promise((resolve) => setImmediate(resolve));
      for (const actor of [...going]) if (actor.isDead) going.delete(actor);
      this.#waiting = this.#waiting.filter(({ actor }) => going.has(actor));
      this.#advance();
      const ready = this.#waiting.filter(({ actor }) => !actor.isStopped(this.now));
      if (ready.length === 0) continue;
      const chosen = this.random.pick(ready);
      this.#waiting = this.#waiting.filter((each) => each !== chosen);
      chosen.go();
    }
    this.#waiting = [];
    if (failure) throw failure.error;
  }

  /** Lets time pass: a little, or until the first stopped actor may go on. */
  #advance(): void {
    const everyoneStopped =
      this.#waiting.length > 0 && this.#waiting.every(({ actor }) => actor.isStopped(this.now));
    const until = Math.min(...this.#waiting.map(({ actor }) => actor.pausedUntil));
    this.now = everyoneStopped ? Math.max(until, this.now) + 1 : this.now + 1 + this.random.below(900);
    this.onTime();
  }
}
