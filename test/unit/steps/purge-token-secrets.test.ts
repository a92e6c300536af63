import { describe, expect, it } from 'vitest';
import { changesOf, Draft } from '../../../src/changes/plan.js';
import { describeChange } from '../../../src/changes/index.js';
import { purgeTokenSecrets } from '../../../src/steps/sa-keys/purge-token-secrets.js';
import type { KeyRecord, LegacyToken, World } from '../../../src/trust/world.js';
import { controlPlane, file, SIGNING, site, soundWorld } from '../../support/worlds.js';
import { withFile, withHost } from '../../../src/trust/world.js';

const OLD = 'an old key';

const token = (name: string, kid: string | undefined, more: Partial<LegacyToken> = {}): LegacyToken => ({
  ...{ namespace: 'apps', name, uid: `uid of ${name}`, resourceVersion: '7' },
  ...{ serviceAccount: 'builder', kid, pods: [], lastUsed: undefined },
  ...more,
});

const withTokens = (legacyTokens: readonly LegacyToken[], world: World = soundWorld()): World => ({
  ...world,
  legacyTokens,
});

const plan = (world: World, given: object = {}) => {
  const draft = new Draft(world);
  const outputs = purgeTokenSecrets.plan(draft, purgeTokenSecrets.withSchema.parse(given), site(world));
  const drawn = draft.finish('test');
  return { ...drawn, outputs, names: changesOf(drawn).map((change) => 'name' in change && change.name) };
};

const record = (more: Partial<KeyRecord>): KeyRecord => ({
  ...{ key: OLD, state: 'soaking', signers: [], rotation: undefined, since: new Date(0) },
  ...more,
});

describe('a token Secret of a key that signs nothing any more', () => {
  it('is deleted in the very version that was looked at, and told of before', () => {
    const { entries, findings, predicted, outputs } = plan(
      withTokens([token('old', OLD, { lastUsed: '2025-12-24' })]),
    );
    expect(entries.map((entry) => entry.kind === 'change' && entry.change)).toEqual([
      {
        ...{ kind: 'delete-secret', namespace: 'apps', name: 'old', uid: 'uid of old' },
        ...{ resourceVersion: '7', serviceAccount: 'builder', kid: OLD },
      },
    ]);
    expect(entries[0]?.section).toBe(undefined);
    expect(findings).toMatchObject([{ severity: 'info' }]);
    expect(findings[0]?.text).toMatch(/apps\/old .*builder, kid an old key, last used 2025-12-24.*in memory/);
    expect(predicted.legacyTokens).toEqual([]);
    expect(outputs).toEqual({ deleted: 1, kept: 0 });
  });

  it('reads well in a plan', () => {
    const [change] = changesOf(plan(withTokens([token('old', OLD)])));
    expect(change && describeChange(change)).toBe(
      'delete the token Secret apps/old (service account builder, kid an old key)',
    );
  });

  it('is kept while a pod uses it, with the pod and how to go on', () => {
    const { entries, findings, outputs } = plan(
      withTokens([token('old', OLD, { pods: ['web-1', 'web-2'] })]),
    );
    expect(entries).toEqual([]);
    expect(findings).toMatchObject([{ severity: 'warning' }]);
    expect(findings[0]?.text).toMatch(
      /kept: in namespace apps, pods web-1, web-2 still use it.*mounted=delete/,
    );
    expect(outputs).toEqual({ deleted: 0, kept: 1 });
  });

  it('is deleted although a pod uses it when that is asked for, with a warning that names the pod', () => {
    const { names, findings } = plan(withTokens([token('old', OLD, { pods: ['web-1'] })]), {
      mounted: 'delete',
    });
    expect(names).toEqual(['old']);
    expect(findings).toMatchObject([
      { severity: 'warning', text: expect.stringContaining('web-1') as string },
    ]);
  });

  it('is deleted whether the registry knows the key as soaking, as retired or not at all', () => {
    for (const state of ['soaking', 'retired'] as const) {
      const keys = new Map([[OLD, record({ state, signers: ['kube-controller-manager@gone'] })]]);
      expect(plan(withTokens([token('old', OLD)], { ...soundWorld(), keys })).names).toEqual(['old']);
    }
  });
});

describe('a token Secret that no known key verifies', () => {
  it.each(['keep', 'delete'])('is reported and never deleted with mounted=%s', (mounted) => {
    const { entries, findings, outputs } = plan(
      withTokens([token('forged', undefined), token('used', undefined, { pods: ['web-1'] })]),
      { mounted },
    );
    expect(entries).toEqual([]);
    expect(findings.map(({ severity }) => severity)).toEqual(['warning', 'warning']);
    expect(findings[0]?.text).toMatch(/apps\/forged .*no key that is known verifies/);
    expect(outputs).toEqual({ deleted: 0, kept: 2 });
  });
});

describe('a token Secret of a key that signs', () => {
  const all = { mounted: 'delete' };
  const untouched = (world: World, kid: string): void => {
    const { entries, findings, outputs } = plan(withTokens([token('live', kid)], world), all);
    expect({ entries, findings, outputs }).toEqual({
      ...{ entries: [], findings: [] },
      outputs: { deleted: 0, kept: 0 },
    });
  };

  it('is never touched: on any control plane', () => {
    for (const name of ['cp1', 'cp2', 'cp3']) untouched(soundWorld(), `key of ${name}`);
  });

  it('is never touched: on disk only, so after the next restart', () => {
    untouched(withFile(soundWorld(), 'cp2', SIGNING, file({ signingKey: OLD })), OLD);
  });

  it('is never touched: in memory only, since the file was replaced', () => {
    const world = withFile(soundWorld(), 'cp2', SIGNING, file({ signingKey: 'next' }));
    untouched(world, 'key of cp2');
    untouched(world, 'next');
  });

  it('is never touched: on record as that of a process that is down', () => {
    const keys = new Map([[OLD, record({ state: 'promoted', signers: ['kube-controller-manager@cp2'] })]]);
    const down = withHost({ ...soundWorld(), keys }, 'cp2', (host) => {
      const services = new Map(host.services);
      services.delete('kube-controller-manager');
      return { ...host, services };
    });
    untouched(down, OLD);
  });

  it('is never touched: the same key under another name, as external signers give them', () => {
    const publicKeys = new Map([
      ['key of cp1', 'PEM'],
      ['hsm-7', 'PEM'],
    ]);
    untouched({ ...soundWorld(), publicKeys }, 'hsm-7');
  });
});

describe('what was not seen', () => {
  it('is not taken as none: Secrets', () => {
    expect(() => plan(soundWorld())).toThrow(
      expect.objectContaining({ code: 'plan.refused', exit: 4 }) as Error,
    );
  });

  it('is not taken as none: what a controller-manager signs with', () => {
    const host = controlPlane('cp2', 'a', ['a']);
    const manager = host.services.get('kube-controller-manager')!;
    const services = new Map(host.services).set('kube-controller-manager', {
      ...manager,
      loaded: { signs: undefined, verifies: [], how: 'unknown' },
    });
    const world = withHost(soundWorld(), 'cp2', () => ({ ...host, services }));
    expect(() => plan(withTokens([token('old', OLD)], world))).toThrow(
      expect.objectContaining({ code: 'plan.refused', host: 'cp2' }) as Error,
    );
  });
});
