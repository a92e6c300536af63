import { describe, expect, it } from 'vitest';
import { partialWorlds } from '../../src/changes/index.js';
import { describeEntry, hostOfEntry, modelEntry, type PlanEntry } from '../../src/changes/plan.js';
import { brokenEdges, edgeId } from '../../src/trust/edges.js';
import { prove } from '../../src/trust/prove.js';
import { withRestart, type ServiceName, type World } from '../../src/trust/world.js';
import { observed } from './observed.js';
import { faultyWorld, planSteps, proven, ROTATION, soundWorld } from '../support/worlds.js';

/** A moment: the world as it is, and what the run at work has still to do; nothing when no run is at work. */
interface State {
  readonly world: World;
  readonly left: readonly PlanEntry[];
  /** The keys that were issued by now are named after their host. */
  readonly path: readonly string[];
}

const SERVICES: readonly ServiceName[] = ['kube-apiserver', 'kube-controller-manager'];

/** A world by what decides its future; times do not. */
const textOf = (world: World): string =>
  JSON.stringify([
    [...world.hosts.values()].map((host) => [
      [...host.files]
        .filter(([path]) => !path.endsWith('.certroll-previous'))
        .map(([path, { signingKey, verificationKeys, certificate }]) => [
          path,
          signingKey,
          [...verificationKeys].sort(),
          certificate?.key,
        ])
        .sort(),
      [...host.services.values()].map(({ loaded }) => [loaded.signs, [...loaded.verifies].sort()]),
    ]),
    [...world.keys.values()].map(({ key, state, rotation }) => [key, state, rotation]).sort(),
    world.rotation,
  ]);

const idOf = ({ world, left }: State): string =>
  `${textOf(world)} ${left.map((entry) => `${hostOfEntry(entry) ?? ''} ${describeEntry(entry)}`).join()}`;

/** The world as the next run observes it. The names of new keys do not depend on when it was. */
const seenAgain = (world: World): World => {
  const names = new Map([...world.hosts.keys()].map((host) => [`next key of ${host}`, `new of ${host}`]));
  return observed(world, names.set('next shared key', 'new shared'));
};

interface Found {
  readonly states: number;
  readonly steps: number;
  readonly ends: number;
}

/**
 * Every history of one rotation: the run goes on, is killed between two entries or in the middle of one and is started
 * again, and any process crashes and comes back at any moment, in every order. Throws at the first edge that breaks.
 */
const search = (start: World, mode: 'per-host' | 'shared', planted?: readonly string[]): Found => {
  const plan = (world: World): readonly PlanEntry[] => {
    const made = planSteps(world, planted ?? ROTATION, { mode, runId: 'run-1' });
    // What is planted the proof would refuse: the search must find it by itself.
    if (!planted) expect(prove(proven(made), world)).toMatchObject({ holds: true });
    return made.entries;
  };
  const first: State = { world: start, left: plan(start), path: [] };
  const known = new Set([idOf(first)]);
  const queue: State[] = [first];
  let steps = 0;
  let ends = 0;
  const visit = (
    from: State,
    broken: ReadonlySet<string>,
    world: World,
    left: readonly PlanEntry[],
    what: string,
  ): void => {
    steps += 1;
    const fresh = brokenEdges(world).filter((edge) => !broken.has(edgeId(edge)));
    if (fresh.length > 0)
      throw new Error(`${[...from.path, what].join(' → ')}: ${fresh.map(edgeId).join('; ')}`);
    const next: State = { world, left, path: [...from.path, what] };
    const id = idOf(next);
    if (known.has(id)) return;
    known.add(id);
    queue.push(next);
  };
  for (let state = queue.pop(); state; state = queue.pop()) {
    const { world, left } = state;
    const broken = new Set(brokenEdges(world).map(edgeId));
    const [entry, ...rest] = left;
    if (entry) {
      visit(state, broken, modelEntry(entry, world), rest, describeEntry(entry));
      const cutOff = entry.kind === 'change' ? partialWorlds(entry.change, world) : [];
      for (const half of cutOff)
        visit(state, broken, seenAgain(half), [], `killed in '${describeEntry(entry)}'`);
      visit(state, broken, seenAgain(world), [], 'killed');
    } else if (world.rotation?.state === 'done') {
      ends += 1;
      expect(brokenEdges(world)).toEqual([]);
      const signs = [...world.hosts.values()].map(
        (host) => host.services.get('kube-apiserver')?.loaded.signs,
      );
      expect(new Set(signs).size).toBe(mode === 'shared' ? 1 : world.hosts.size);
      expect([...world.keys.values()].filter(({ rotation }) => rotation !== undefined)).toHaveLength(
        mode === 'shared' ? 1 : world.hosts.size,
      );
    } else {
      visit(state, broken, world, plan(world), 'run again');
    }
    for (const host of world.hosts.keys())
      for (const service of SERVICES)
        visit(state, broken, withRestart(world, host, service), left, `${service} of ${host} crashes`);
  }
  return { states: known.size, steps, ends };
};

describe('every history of a rotation, with kills and crashes at every moment', () => {
  it.each([
    ['three hosts, the fault', 'per-host', faultyWorld()],
    ['three hosts, sound', 'per-host', soundWorld()],
    ['three hosts, the fault', 'shared', faultyWorld()],
    ['two hosts, sound', 'per-host', soundWorld(['cp1', 'cp2'])],
  ] as const)(
    '%s, %s: no edge breaks, and each ends with every token accepted',
    { timeout: 600_000 },
    (what, mode, start) => {
      const found = search(start, mode);
      process.stdout.write(
        `exhaustive search, ${what}, ${mode}: ${found.states} states, ${found.steps} steps, ${found.ends} ends\n`,
      );
      expect(found.ends).toBeGreaterThan(0);
      expect(found.states).toBeGreaterThan(100);
    },
  );

  it.each([
    ['before anything is published', ['sa-keys/issue', 'sa-keys/promote', 'sa-keys/soak']],
    ['published and not loaded', ROTATION.filter((step) => step !== 'apiserver/restart')],
  ] as const)('finds keys that are promoted %s', (_what, steps) => {
    expect(() => search(soundWorld(), 'per-host', steps)).toThrow(/→ kube-apiserver@.* signed with/);
  });
});
