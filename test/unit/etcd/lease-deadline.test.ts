import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LeaseDeadline, SAFE_PART, type Moment } from '../../../src/etcd/lease-deadline.js';

const TTL = 10;

/** What may happen between two looks; times in milliseconds of real time. */
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(4000) }) },
  // The machine sleeps: real time passes, the monotonic clock stands.
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('sleep' as const), ms: fc.nat(20_000) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('step' as const),
      ms: fc.integer({ min: -30_000, max: 30_000 }),
    }),
  },
  { weight: 4, arbitrary: fc.constant({ kind: 'send' as const, ms: 0 }) },
  // etcd takes the oldest keep-alive on its way; its answer arrives when the next `answer` does.
  { weight: 3, arbitrary: fc.constant({ kind: 'receive' as const, ms: 0 }) },
  { weight: 3, arbitrary: fc.constant({ kind: 'answer' as const, ms: 0 }) },
);

/** A lease on an etcd and the deadline that a client keeps of it. */
class World {
  real = 1000;
  asleep = 0;
  stepped = 0;
  /** When etcd lets the lease go. It got the request when it was sent, at the earliest. */
  expires = 1000 + TTL * 1000;
  readonly deadline: LeaseDeadline;
  readonly #sent: Moment[] = [];
  readonly #answers: Moment[] = [];

  constructor() {
    this.deadline = new LeaseDeadline(TTL, this.clock(), () => this.clock());
  }

  clock(): Moment {
    return { monotonic: this.real - this.asleep, wall: this.real + this.stepped };
  }

  do(kind: 'pass' | 'sleep' | 'step' | 'send' | 'receive' | 'answer', ms: number): void {
    if (kind === 'pass' || kind === 'sleep') this.real += ms;
    if (kind === 'sleep') this.asleep += ms;
    if (kind === 'step') this.stepped += ms;
    if (kind === 'send') this.#sent.push(this.clock());
    if (kind === 'receive') {
      const sentAt = this.#sent.shift();
      // A lease that has run out cannot be renewed; etcd says so and the client gives up.
      if (sentAt && this.real < this.expires) {
        this.expires = this.real + TTL * 1000;
        this.#answers.push(sentAt);
      }
    }
    if (kind === 'answer') {
      const sentAt = this.#answers.shift();
      if (sentAt) this.deadline.renew(sentAt);
    }
  }
}

describe('the deadline of a lease', () => {
  it.each([
    ['the wall clock is set', ['sleep']],
    ['the machine sleeps', ['step']],
  ])('is over before etcd lets the lease go, even when %s', (_when, left) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const world = new World();
        for (const { kind, ms } of steps.filter((one) => !left.includes(one.kind))) {
          world.do(kind, ms);
          if (world.deadline.left() > 0) expect(world.real).toBeLessThan(world.expires);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('stays over once it is, whatever is answered', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const world = new World();
        let over = false;
        for (const { kind, ms } of steps) {
          world.do(kind, ms);
          const left = world.deadline.left();
          if (over) expect(left).toBe(0);
          over ||= left === 0;
        }
      }),
    );
  });

  it('is kept by a keep-alive every third of the TTL', () => {
    const world = new World();
    for (let at = 0; at < 100; at += 1) {
      world.do('pass', (TTL * 1000) / 3);
      for (const kind of ['send', 'receive', 'answer'] as const) world.do(kind, 0);
      expect(world.deadline.left()).toBeCloseTo(TTL * 1000 * SAFE_PART);
    }
  });

  it('counts from when a keep-alive was sent, not from its answer', () => {
    const world = new World();
    world.do('send', 0);
    world.do('receive', 0);
    world.do('pass', 5000);
    world.do('answer', 0);
    expect(world.deadline.left()).toBe(TTL * 1000 * SAFE_PART - 5000);
  });

  it('is not shortened by an answer that was overtaken', () => {
    const clock = { monotonic: 0, wall: 0 };
    const deadline = new LeaseDeadline(TTL, { ...clock }, () => clock);
    const early = { monotonic: 100, wall: 100 };
    expect(deadline.renew({ monotonic: 2000, wall: 2000 })).toBe(true);
    expect(deadline.renew(early)).toBe(true);
    expect(deadline.left()).toBe(2000 + TTL * 1000 * SAFE_PART);
  });

  it('refuses an answer that came too late', () => {
    const world = new World();
    world.do('send', 0);
    world.do('receive', 0);
    world.do('pass', TTL * 1000 * SAFE_PART);
    expect(world.deadline.renew(world.clock())).toBe(false);
  });
});
