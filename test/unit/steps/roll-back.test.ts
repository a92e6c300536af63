import { describe, expect, it } from 'vitest';
import { changesOf, Draft, gateRefusals, modelEntry, type Plan } from '../../../src/changes/plan.js';
import { rotationLine } from '../../../src/cli/show-status.js';
import { beforeOf, rollBack } from '../../../src/steps/sa-keys/roll-back.js';
import { brokenEdges } from '../../../src/trust/edges.js';
import { prove } from '../../../src/trust/prove.js';
import { isRolledBack } from '../../../src/trust/rotation.js';
import { hostOf, onDisk, type World } from '../../../src/trust/world.js';
import { faultyWorld, planSteps, proven, ROTATION, site, soundWorld } from '../../support/worlds.js';

const back = (from: World, to: World, mode: 'per-host' | 'shared' = 'per-host'): Plan => {
  const draft = new Draft(from);
  rollBack(draft, beforeOf(to), site(from, { mode }));
  return draft.finish('rollback');
};

const signers = (world: World): readonly (string | undefined)[] =>
  [...world.hosts.values()].map((host) => onDisk(host, host.services.get('kube-apiserver')!).signs);

describe('a rollback', () => {
  it.each([
    ['per-host', soundWorld()],
    ['shared', soundWorld()],
    ['per-host', soundWorld(['cp1'])],
    ['per-host', faultyWorld()],
  ] as const)(
    '%s: after a whole rotation every host signs as before, proved, no token refused',
    (mode, start) => {
      const { predicted } = planSteps(start, ROTATION, { mode });
      const plan = back(predicted, start, mode);
      expect(prove(proven(plan), predicted)).toMatchObject({ holds: true });
      expect(gateRefusals(plan.entries, predicted)).toEqual([]);
      expect(signers(plan.predicted)).toEqual(signers(start));
      // Even from the fault: what was mended stays mended.
      expect(brokenEdges(plan.predicted)).toEqual([]);
      expect(changesOf(plan).filter(({ kind }) => kind === 'generate-key')).toEqual([]);
    },
  );

  it('keeps the keys of the run trusted while their tokens live, and takes nothing from the bundles', () => {
    const start = soundWorld();
    const { predicted } = planSteps(start, ROTATION);
    const { predicted: after } = back(predicted, start);
    for (const host of after.hosts.values()) {
      const { verifies } = onDisk(host, host.services.get('kube-apiserver')!);
      for (const name of after.hosts.keys()) expect(verifies).toContain(`next key of ${name}`);
    }
    expect(after.keys.get('next key of cp1')?.state).toBe('soaking');
    expect(after.keys.get('key of cp1')?.state).toBe('promoted');
    expect(after.rotation?.state).toBe('done');
  });

  it('is proved wherever the run was stopped, leaves nothing staged and closes the rotation', () => {
    const start = soundWorld();
    const plan = planSteps(start, ROTATION);
    let world = start;
    for (const entry of plan.entries) {
      world = modelEntry(entry, world);
      const way = back(world, start);
      expect(prove(proven(way), world)).toMatchObject({ holds: true });
      expect(signers(way.predicted)).toEqual(signers(start));
      expect(way.predicted.rotation?.state).toBe('done');
      for (const host of way.predicted.hosts.values())
        expect([...host.files.keys()].filter((path) => path.endsWith('.certroll-next'))).toEqual([]);
    }
  });

  it('is told by status, until it is rolled back itself', () => {
    const start = soundWorld();
    const { predicted } = planSteps(start, ROTATION);
    expect(rotationLine(start, undefined)).toBe('No rotation on record.');
    expect(rotationLine(predicted, undefined)).toMatch(/^Rotation run-1, started .*Z, is done\.$/);
    const returned = back(predicted, start).predicted;
    expect(rotationLine(returned, undefined)).toMatch(
      /^Rotation run-1, .*Z, was rolled back: none of its keys signs any more\.$/,
    );
    expect(rotationLine(back(returned, predicted).predicted, undefined)).toMatch(/is done\.$/);
  });

  it('is told by status wherever the rotation was stopped, once there was a key', () => {
    const start = soundWorld();
    let world = start;
    for (const entry of planSteps(start, ROTATION).entries) {
      world = modelEntry(entry, world);
      const hasKeys = [...world.keys.values()].some(({ rotation }) => rotation !== undefined);
      expect(isRolledBack(back(world, start).predicted)).toBe(hasKeys);
    }
  });

  it('has nothing to do where nothing was done', () => {
    const start = soundWorld();
    expect(back(start, start).entries).toEqual([]);
  });

  it('can be rolled back itself', () => {
    const start = soundWorld();
    const { predicted } = planSteps(start, ROTATION);
    const returned = back(predicted, start).predicted;
    const again = back(returned, predicted);
    expect(prove(proven(again), returned)).toMatchObject({ holds: true });
    expect(signers(again.predicted)).toEqual(signers(predicted));
  });

  it('is refused, with the host and the key, when the old private key has been replaced again', () => {
    const start = soundWorld();
    const first = planSteps(start, ROTATION).predicted;
    const named = {
      ...first,
      hosts: new Map(
        [...first.hosts].map(([name, host]) => {
          const files = new Map(host.files);
          files.set('/etc/kubernetes/pki/sa.key.certroll-previous', {
            signingKey: 'another',
            verificationKeys: [],
            problems: [],
          });
          return [name, { ...hostOf(first, name), files }];
        }),
      ),
    };
    expect(() => back(named, start)).toThrow(/cp1: the private key key of cp1, .* is not there any more/);
  });
});
