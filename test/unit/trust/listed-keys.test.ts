import { describe, expect, it } from 'vitest';
import { brokenCredentials } from '../../../src/trust/edges.js';
import { prove } from '../../../src/trust/prove.js';
import { hostOf, withFile, withRestart, type World } from '../../../src/trust/world.js';
import { BUNDLE, controlPlane, file, planSteps, proven, ROTATION, world } from '../../support/worlds.js';

const NAMES = ['cp1', 'cp2', 'cp3'];
const SIGNING = NAMES.map((name) => `key of ${name}`);

/** A sound cluster in which the named apiservers trust one key more, which nothing signs with and no record tells of. */
const withStranger = (names: readonly string[]): World =>
  world(
    NAMES.map((name) =>
      controlPlane(name, `key of ${name}`, [...SIGNING, ...(names.includes(name) ? ['stranger'] : [])]),
    ),
  );

describe('a key that a bundle lists and no record tells of', () => {
  it('is no fault where the others do not list it', () => {
    expect(brokenCredentials(withStranger(['cp2']))).toEqual([]);
  });

  it('keeps no rotation from being made, which publishes it to all', () => {
    const start = withStranger(['cp2']);
    const plan = planSteps(start, ROTATION);
    expect(prove(proven(plan), start)).toMatchObject({ holds: true });
    for (const name of NAMES)
      expect(hostOf(plan.predicted, name).files.get(BUNDLE)?.verificationKeys).toContain('stranger');
  });

  it('is put on record before it is published, and that alone is not refused', () => {
    const start = withStranger(['cp2']);
    const plan = planSteps(start, [
      ['sa-keys/publish', { next: false }],
      ['apiserver/restart', { only: 'stale' }],
    ]);
    expect(prove(proven(plan), start)).toMatchObject({ holds: true });
  });

  const drop = (before: World): World => withFile(before, 'cp2', BUNDLE, file({ verificationKeys: SIGNING }));
  const restart = (before: World): World => withRestart(before, 'cp2', 'kube-apiserver');

  it('may not be dropped while others list it: somebody may hold tokens of it', () => {
    expect(prove([{ title: 'drop', model: drop }], withStranger(NAMES))).toMatchObject({
      holds: false,
      refusal: {
        change: 'drop',
        edges: [
          {
            verifier: 'kube-apiserver@cp2',
            credential: { kind: 'token-key', key: 'stranger' },
            where: 'disk',
            isDormant: true,
          },
        ],
      },
    });
  });

  it('may be taken away by hand: a restart that loads a file without it is not refused', () => {
    expect(prove([{ title: 'restart', model: restart }], drop(withStranger(['cp2'])))).toMatchObject({
      holds: true,
    });
  });
});
