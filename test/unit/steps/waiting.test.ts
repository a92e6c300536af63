import { describe, expect, it } from 'vitest';
import type { ApplyContext } from '../../../src/changes/change.js';
import { checkGate, type Waited } from '../../../src/changes/gate.js';
import { encodeRecord } from '../../../src/changes/registry.js';
import { canonicalPem, kidOf } from '../../../src/pem/keys.js';
import { generateKeyPairSync } from 'node:crypto';
import { prove } from '../../../src/trust/prove.js';
import { planSteps, proven, ROTATION, soundWorld } from '../../support/worlds.js';

const HOUR = 3_600_000;

describe('new keys that verifiers outside of the cluster must hear of', () => {
  it('wait between being accepted and being promoted', () => {
    const start = soundWorld();
    const plan = planSteps(start, ROTATION, { jwksMaxAgeMs: HOUR });
    const at = plan.entries.findIndex((entry) => entry.kind === 'gate' && entry.gate.kind === 'waited');
    const promoted = plan.entries.findIndex((entry) => entry.step === 'sa-keys/promote');
    expect(at).toBeGreaterThan(0);
    expect(promoted).toBe(at + 1);
    expect(prove(proven(plan), start)).toMatchObject({ holds: true });
    // What comes behind the wait is planned for then.
    expect(plan.predicted.now.getTime() - start.now.getTime()).toBe(HOUR);
  });

  it('do not wait where nobody outside verifies, nor once they are promoted', () => {
    const waits = (plan: ReturnType<typeof planSteps>): number =>
      plan.entries.filter((entry) => entry.kind === 'gate' && entry.gate.kind === 'waited').length;
    expect(waits(planSteps(soundWorld(), ROTATION))).toBe(0);
    const { predicted } = planSteps(soundWorld(), ROTATION, { jwksMaxAgeMs: HOUR });
    const open = { ...predicted, rotation: { ...predicted.rotation!, state: 'open' as const } };
    expect(waits(planSteps(open, ROTATION, { jwksMaxAgeMs: HOUR }))).toBe(0);
  });
});

describe('a wait of the plan, when a run comes to it', () => {
  const publicKeyPem = canonicalPem(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey);
  const kid = kidOf(publicKeyPem);
  const since = new Date('2026-01-01T00:00:00Z');
  const gate: Waited = {
    kind: 'waited',
    keys: [kid],
    from: 'accepted',
    ms: HOUR,
    why: 'others must hear of it',
  };

  /** What of a context a wait looks at: the registry, and the time. */
  const at = (now: string): ApplyContext => {
    const record = { key: kid, state: 'accepted' as const, signers: [], rotation: undefined, since };
    const entry = { value: encodeRecord(record, kid, publicKeyPem), modRevision: '1' };
    const store = { list: () => Promise.resolve(new Map([[`/certroll/test/sa-keys/${kid}`, entry]])) };
    return {
      doors: { store },
      settings: { registryPrefix: '/certroll' },
      cluster: 'test',
      keys: { resolve: () => ({ kid, publicKeyPem }) },
      now: () => new Date(now),
    } as unknown as ApplyContext;
  };

  it('ends the run as waiting (7), saying until when and why, before its time', async () => {
    await expect(checkGate(gate, at('2026-01-01T00:59:59Z'))).rejects.toMatchObject({
      code: 'run.waiting',
      exit: 7,
      message: 'waiting until 2026-01-01T01:00:00.000Z: others must hear of it',
      hint: expect.stringContaining('run the same command again after 2026-01-01T01:00:00.000Z') as string,
    });
  });

  it('lets the run go on afterwards', async () => {
    await expect(checkGate(gate, at('2026-01-01T01:00:00Z'))).resolves.toBeUndefined();
  });
});
