import { describe, expect, it } from 'vitest';
import { changesOf } from '../../../src/changes/plan.js';
import { brokenEdges } from '../../../src/trust/edges.js';
import { prove } from '../../../src/trust/prove.js';
import { hostOf, onDisk, type KeyRecord, type LegacyToken, type World } from '../../../src/trust/world.js';
import { BUNDLE, file, planSteps, proven, soundWorld } from '../../support/worlds.js';
import { withFile } from '../../../src/trust/world.js';

const DAY = 86_400_000;
const names = ['cp1', 'cp2', 'cp3'];

/** Three sound control planes that still trust `old`, which last signed so many days ago. */
const soaking = (days: number, more: Partial<World> = {}): World => {
  const base = soundWorld(names);
  const since = new Date(base.now.getTime() - days * DAY);
  const record: KeyRecord = {
    key: 'old',
    state: 'soaking',
    signers: ['kube-apiserver@cp1'],
    rotation: undefined,
    since,
    lastSigned: since,
  };
  const signers = names.map(
    (name) =>
      [
        `key of ${name}`,
        { ...record, key: `key of ${name}`, state: 'promoted', signers: [`kube-apiserver@${name}`] },
      ] as const,
  );
  let made: World = { ...base, keys: new Map([['old', record], ...signers]), legacyTokens: [], ...more };
  for (const name of names) {
    const keys = [...names.map((each) => `key of ${each}`), 'old'];
    made = withFile(made, name, BUNDLE, file({ verificationKeys: keys }));
    const host = hostOf(made, name);
    const apiserver = host.services.get('kube-apiserver')!;
    const services = new Map(host.services).set('kube-apiserver', {
      ...apiserver,
      loaded: { ...apiserver.loaded, verifies: keys },
    });
    made = { ...made, hosts: new Map(made.hosts).set(name, { ...host, services }) };
  }
  return made;
};

const secret: LegacyToken = {
  namespace: 'kube-system',
  name: 'old-token',
  uid: 'u',
  resourceVersion: '1',
  serviceAccount: 'default',
  kid: 'old',
  pods: [],
  lastUsed: undefined,
};

const RETIRE = ['sa-keys/retire', ['sa-keys/publish', { next: false }], 'apiserver/restart'] as const;
const trusts = (world: World, name: string): readonly string[] =>
  onDisk(hostOf(world, name), hostOf(world, name).services.get('kube-apiserver')!).verifies;

describe('retiring', () => {
  it('takes a key whose tokens have all run out from every bundle, proved', () => {
    const start = soaking(366);
    const plan = planSteps(start, RETIRE);
    expect(prove(proven(plan), start)).toMatchObject({ holds: true });
    for (const name of names) expect(trusts(plan.predicted, name)).not.toContain('old');
    expect(changesOf(plan).map(({ kind }) => kind)).toEqual([
      'put-records',
      ...names.map(() => 'write-file'),
      ...names.map(() => 'restart-service'),
    ]);
  });

  it('leaves a key alone whose tokens may live, and says how long', () => {
    const plan = planSteps(soaking(364), RETIRE);
    expect(changesOf(plan)).toEqual([]);
    expect(plan.findings.map(({ text }) => text)).toEqual([
      'key old stays trusted: its tokens live for up to 1d (extended tokens)',
    ]);
  });

  it('waits for it when told to, and takes it away behind the wait', () => {
    const start = soaking(364);
    const plan = planSteps(start, [['sa-keys/retire', { wait: true }], ...RETIRE.slice(1)]);
    // What the time is of is named, and no setting that has no part in it.
    const why = 'a token may live that long (extended tokens)';
    expect(plan.entries[0]).toMatchObject({ kind: 'gate', gate: { kind: 'waited', keys: ['old'], why } });
    expect(prove(proven(plan), start)).toMatchObject({ holds: true });
    for (const name of names) expect(trusts(plan.predicted, name)).not.toContain('old');
  });

  it('never retires a key that a token Secret is signed with, however old', () => {
    const plan = planSteps(soaking(4000, { legacyTokens: [secret] }), [
      ['sa-keys/retire', { wait: true }],
      ...RETIRE.slice(1),
    ]);
    expect(changesOf(plan)).toEqual([]);
    expect(plan.findings[0]?.text).toContain('kube-system/old-token');
  });

  it('refuses when nobody looked at the Secrets', () => {
    const start = soaking(366);
    const { legacyTokens: _unseen, ...unseen } = start;
    expect(() => planSteps(unseen, RETIRE)).toThrow(/could not be looked at/);
  });

  it('with a soak shorter than the flags allow, waits for clients that still use old tokens', () => {
    const life = { maxMs: DAY, why: 'serviceAccounts.soak', shortened: true };
    const busy = planSteps(soaking(2, { tokenLife: life, staleTokens: new Map([['cp2', 7]]) }), RETIRE);
    expect(changesOf(busy)).toEqual([]);
    expect(busy.findings.at(-1)?.text).toContain('cp2 got 7 tokens');
    expect(busy.findings[0]?.text).toContain('shorter than the life of tokens');
    const quiet = planSteps(soaking(2, { tokenLife: life, staleTokens: new Map([['cp2', 0]]) }), RETIRE);
    expect(changesOf(quiet)).not.toEqual([]);
  });
});

describe('the proof refuses a plan of somebody else that stops trusting a key', () => {
  const drop = (start: World) =>
    prove(
      [
        {
          title: 'drop old on cp2',
          model: (before) =>
            withFile(
              before,
              'cp2',
              BUNDLE,
              file({ verificationKeys: names.map((name) => `key of ${name}`) }),
            ),
        },
      ],
      start,
    );

  it('while its tokens may live, and says until when', () => {
    expect(drop(soaking(10))).toMatchObject({
      holds: false,
      refusal: { remedy: expect.stringContaining('may live until 2026-12-22') as string },
    });
  });

  it('even when the registry calls it retired', () => {
    const start = soaking(10);
    const retired = { ...start.keys.get('old')!, state: 'retired' as const };
    expect(drop({ ...start, keys: new Map(start.keys).set('old', retired) })).toMatchObject({ holds: false });
  });

  it('but not on a longer life that the flags allow only since it was retired', () => {
    const start = soaking(366);
    const { predicted } = planSteps(start, RETIRE);
    const longer = { ...predicted, tokenLife: { maxMs: 3 * 365 * DAY, why: 'a new flag' } };
    expect(brokenEdges(longer)).toEqual([]);
  });

  it('while a token Secret is signed with it, and names the Secret', () => {
    expect(drop(soaking(4000, { legacyTokens: [secret] }))).toMatchObject({
      holds: false,
      refusal: {
        edges: [{ presenter: 'kube-apiserver@cp1' }, { presenter: 'token Secret kube-system/old-token' }],
        remedy: expect.stringContaining('purge-sa-token-secrets') as string,
      },
    });
  });
});

describe('flags that a restart would change', () => {
  const withNext = (flags: { verificationFiles?: readonly string[]; issuers?: readonly string[] }): World => {
    let start = soundWorld(names);
    for (const host of start.hosts.values()) {
      const apiserver = { ...host.services.get('kube-apiserver')!, issuers: ['https://a'] };
      const services = new Map(host.services).set('kube-apiserver', apiserver);
      start = { ...start, hosts: new Map(start.hosts).set(host.name, { ...host, services }) };
    }
    const host = hostOf(start, 'cp3');
    const apiserver = host.services.get('kube-apiserver')!;
    const next = {
      signingFile: apiserver.signingFile,
      verificationFiles: flags.verificationFiles ?? apiserver.verificationFiles,
      issuers: flags.issuers ?? ['https://a'],
    };
    const services = new Map(host.services).set('kube-apiserver', { ...apiserver, next });
    return { ...start, hosts: new Map(start.hosts).set('cp3', { ...host, services }) };
  };
  const restart = (start: World) =>
    prove(proven(planSteps(start, [['apiserver/restart', { only: 'all' }]])), start);

  it.each([
    ['drop a file with keys', withNext({ verificationFiles: [] }), 'token-key'],
    ['drop the issuer of live tokens', withNext({ issuers: ['https://b'] }), 'token-issuer'],
    [
      'sign for an issuer that the running ones do not accept',
      withNext({ issuers: ['https://b', 'https://a'] }),
      'token-issuer',
    ],
  ] as const)('are refused when they %s', (_what, start, kind) => {
    expect(restart(start)).toMatchObject({
      holds: false,
      refusal: {
        edges: expect.arrayContaining([
          expect.objectContaining({ credential: expect.objectContaining({ kind }) as object }),
        ]) as object,
      },
    });
  });

  it('are let through when they only add an issuer behind the first', () => {
    expect(restart(withNext({ issuers: ['https://a', 'https://b'] }))).toMatchObject({ holds: true });
  });
});
