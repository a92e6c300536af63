import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changesOf } from '../../src/changes/plan.js';
import { modelChange } from '../../src/changes/index.js';
import { brokenEdges, edgeId } from '../../src/trust/edges.js';
import { prove } from '../../src/trust/prove.js';
import { withRestart, type KeyRef, type World } from '../../src/trust/world.js';
import { observed } from './observed.js';
import { faultyWorld, planSteps, proven, ROTATION, soundWorld } from '../support/worlds.js';

interface Outcome {
  readonly world: World;
  readonly runs: number;
  readonly issued: number;
}

/**
 * Runs the rotation; each number of `crashes` stops one run after that many changes; `bounces` restarts a process by
 * itself before a change. Checks after every change that no edge breaks which held before.
 */
const rotate = (
  start: World,
  mode: 'per-host' | 'shared',
  crashes: readonly number[],
  bounces: ReadonlySet<number>,
): Outcome => {
  let world = start;
  let issued = 0;
  let runs = 0;
  let clock = 0;
  for (const crash of [...crashes, Infinity]) {
    runs += 1;
    const names = new Map<KeyRef, string>([['run', String(runs)]]);
    const plan = planSteps(world, ROTATION, { mode, runId: `run-${runs}` });
    expect(prove(proven(plan), world)).toMatchObject({ holds: true });
    let broken = new Set(brokenEdges(world).map(edgeId));
    for (const change of changesOf(plan).slice(0, crash)) {
      const hosts = [...world.hosts.keys()];
      const bounced = bounces.has(clock)
        ? withRestart(world, hosts[clock % hosts.length] ?? '', 'kube-apiserver')
        : world;
      world = modelChange(change, bounced);
      clock += 1;
      if (change.kind === 'generate-key') issued += 1;
      const now = new Set(brokenEdges(world).map(edgeId));
      expect([...now].filter((edge) => !broken.has(edge))).toEqual([]);
      broken = now;
    }
    world = observed(world, names);
    if (world.rotation?.state === 'done') break;
  }
  return { world, runs, issued };
};

describe('running again after a stopped run', () => {
  for (const mode of ['per-host', 'shared'] as const) {
    for (const [name, start] of [
      ['the fault', faultyWorld()],
      ['a sound cluster', soundWorld()],
    ] as const) {
      it(`finishes with one new key ${mode}, wherever the first run stopped, from ${name}`, () => {
        const total = changesOf(planSteps(start, ROTATION, { mode })).length;
        for (let crash = 0; crash < total; crash += 1) {
          const { world, issued } = rotate(start, mode, [crash], new Set());
          expect(brokenEdges(world)).toEqual([]);
          expect(world.rotation?.state).toBe('done');
          expect(issued).toBe(mode === 'shared' ? 1 : 3);
        }
      });
    }
  }

  it('finishes with one new key per host after any crashes and restarts by themselves', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('per-host' as const, 'shared' as const),
        fc.constantFrom(faultyWorld(), soundWorld(), faultyWorld(['cp1']), soundWorld(['cp1', 'cp2'])),
        fc.array(fc.nat(25), { maxLength: 6 }),
        fc.uniqueArray(fc.nat(40), { maxLength: 12 }),
        (mode, start, crashes, bounces) => {
          const { world, issued } = rotate(start, mode, crashes, new Set(bounces));
          expect(brokenEdges(world)).toEqual([]);
          expect(world.rotation?.state).toBe('done');
          expect(issued).toBe(mode === 'shared' ? 1 : start.hosts.size);
        },
      ),
      { numRuns: Number(process.env['CERTROLL_MODEL_RUNS'] ?? 500) },
    );
  });
});
