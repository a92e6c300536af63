import { beforeAll, describe, expect, it } from 'vitest';
import type { Plan, PlanEntry } from '../../src/changes/plan.js';
import type { HeldLock, Store } from '../../src/etcd/store.js';
import { Violation } from './simulation/cluster.js';
import { PEACE } from './simulation/doors.js';
import { Exploration, loadCookbooks, type Explored, type Planted } from './simulation/explore.js';
import { makeKeys, type SimKey } from './simulation/keys.js';

/**
 * The real run (observe, plan, prove, apply, verify; locks, journal, gates) on a simulated cluster, with kills, stops,
 * lost connections, cut-off hosts, an etcd without quorum, a second bastion and another automation at random moments.
 */
const RUNS = Number(process.env['CERTROLL_MODEL_RUNS'] ?? 300);
const SEED = Number(process.env['CERTROLL_MODEL_SEED'] ?? Date.now() % 1_000_000_000);
/** Planted defects must be found within so many histories. */
const PATIENCE = 400;

let keys: readonly SimKey[];
let cookbooks: Awaited<ReturnType<typeof loadCookbooks>>;

beforeAll(async () => {
  keys = await makeKeys();
  cookbooks = await loadCookbooks();
});

const explore = async (seed: number, planted?: Planted): Promise<Explored> =>
  new Exploration(seed, keys, cookbooks, planted).explore();

/** The first such violation that a planted defect leads to; undefined when it never does. */
const firstViolation = async (planted: Planted, message: RegExp): Promise<Violation | undefined> => {
  for (let at = 0; at < PATIENCE; at += 1) {
    try {
      await explore(SEED + at, planted);
    } catch (thrown) {
      if (!(thrown instanceof Violation)) throw thrown;
      if (message.test(thrown.message)) return thrown;
    }
  }
  return undefined;
};

describe('certroll on a simulated cluster', () => {
  it(`keeps every promise in ${RUNS} random histories`, { timeout: 1000 * Math.max(300, RUNS) }, async () => {
    const sum = { histories: 0, moments: 0, runs: 0, killed: 0, failed: 0 };
    for (let at = 0; at < RUNS; at += 1) {
      const seed = SEED + at;
      const seen = await explore(seed).catch((thrown: unknown) => {
        throw new Error(
          `seed ${seed} (CERTROLL_MODEL_SEED=${seed} CERTROLL_MODEL_RUNS=1): ${String(thrown)}`,
          {
            cause: thrown,
          },
        );
      });
      sum.histories += 1;
      sum.moments += seen.steps;
      sum.runs += seen.runs;
      sum.killed += seen.killed;
      sum.failed += seen.failed;
    }
    process.stdout.write(`simulation: first seed ${SEED}; ${JSON.stringify(sum)}; 0 violations\n`);
    expect(sum.histories).toBe(RUNS);
  });
});

/** The entries that sign with the next keys come before those that make the apiservers know them. */
const promoteFirst = (plan: Plan): Plan => {
  const isPromote = (entry: PlanEntry): boolean =>
    entry.step === 'sa-keys/promote' && entry.kind === 'change';
  const isKnowing = (entry: PlanEntry): boolean =>
    entry.step === 'apiserver/restart' || entry.kind === 'gate';
  const others = plan.entries.filter((entry) => !isPromote(entry) && !isKnowing(entry));
  const at = others.findIndex((entry) => entry.step === 'sa-keys/accepted' || entry.step === 'sa-keys/soak');
  const cut = at < 0 ? others.length : at;
  return {
    ...plan,
    entries: [
      ...others.slice(0, cut),
      ...plan.entries.filter(isPromote),
      ...plan.entries.filter((entry) => isKnowing(entry) && entry.kind === 'change'),
      ...others.slice(cut),
    ],
  };
};

/** Locks that never notice that they were lost. */
const unnoticed = (store: Store): Store => ({
  ...store,
  mutex: (name, options) => ({
    acquire: async (): Promise<HeldLock> => {
      const held = await store.mutex(name, options).acquire();
      return {
        ...held,
        signal: new AbortController().signal,
        assertHeld: () => undefined,
        leftMs: () => 1e9,
        recheck: () => Promise.resolve(),
      };
    },
  }),
});

describe('the simulation finds what is planted', () => {
  it.each<readonly [what: string, planted: Planted, message: RegExp]>([
    [
      'signing with a key before it is accepted',
      { plan: promoteFirst, unproved: true },
      /a live token signed with .* is refused/,
    ],
    [
      'retiring a key at once',
      {
        world: (world) => ({ ...world, tokenLife: { maxMs: 0, why: 'planted' } }),
        unproved: true,
      },
      /a live token signed with .* is refused/,
    ],
    [
      'a lock that is lost unnoticed',
      { store: unnoticed, faults: { ...PEACE, pause: 0.05 } },
      /restarts .* without the lock/,
    ],
    [
      'hosts that are not looked at again before they are changed',
      { unlooked: true },
      /a live token signed with .* is refused/,
    ],
  ])('%s', { timeout: 300_000 }, async (_what, planted, message) => {
    expect((await firstViolation(planted, message))?.message).toMatch(message);
  });
});
