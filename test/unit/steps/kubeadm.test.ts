import { describe, expect, it } from 'vitest';
import { changesOf, gateRefusals } from '../../../src/changes/plan.js';
import { Draft } from '../../../src/changes/plan.js';
import { beforeOf, rollBack } from '../../../src/steps/sa-keys/roll-back.js';
import { brokenEdges } from '../../../src/trust/edges.js';
import { prove } from '../../../src/trust/prove.js';
import { withFile, type World } from '../../../src/trust/world.js';
import {
  file,
  kubeadmWorld,
  planSteps,
  proven,
  PUBLIC_KEYS,
  ROTATION,
  SIGNING,
  site,
} from '../../support/worlds.js';

const SHARED = { mode: 'shared', certified: false } as const;
const rotate = (start: World) => planSteps(start, ROTATION, SHARED);

describe("a rotation on kubeadm's layout, in shared mode", () => {
  it('is proved, and ends with every edge holding', () => {
    const start = kubeadmWorld();
    const plan = rotate(start);
    expect(prove(proven(plan), start)).toMatchObject({ holds: true });
    expect(gateRefusals(plan.entries, start)).toEqual([]);
    expect(brokenEdges(plan.predicted)).toEqual([]);
    for (const host of plan.predicted.hosts.values())
      for (const { loaded } of host.services.values()) expect(loaded.signs).toBe('next shared key');
  });

  it('makes one key, publishes in sa.pub, and swaps sa.key alone: there is no certificate', () => {
    const changes = changesOf(rotate(kubeadmWorld(['cp1', 'cp2'])));
    const of = (kind: string) => changes.filter((change) => change.kind === kind);
    expect(of('generate-key')).toMatchObject([{ host: 'cp1', path: `${SIGNING}.certroll-next` }]);
    expect(of('write-file')).toMatchObject([
      {
        host: 'cp2',
        path: `${SIGNING}.certroll-next`,
        content: { type: 'signing-key', from: { host: 'cp1', path: `${SIGNING}.certroll-next` } },
      },
      ...['cp1', 'cp2'].map((host) => ({
        host,
        path: PUBLIC_KEYS,
        content: { type: 'verification-keys', keys: ['next shared key', 'shared key'] },
      })),
    ]);
    expect(of('install-files').map((change) => 'files' in change && change.files)).toEqual(
      ['cp1', 'cp2'].map(() => [{ from: `${SIGNING}.certroll-next`, to: SIGNING }]),
    );
  });

  it('restarts each apiserver twice and each controller-manager once, never two in one section', () => {
    const { entries } = rotate(kubeadmWorld());
    const restarts = entries.flatMap((entry) =>
      entry.kind === 'change' && entry.change.kind === 'restart-service'
        ? [{ service: entry.change.service, section: entry.section }]
        : [],
    );
    const apiservers = restarts.filter(({ service }) => service === 'kube-apiserver');
    expect(apiservers).toHaveLength(6);
    expect(new Set(apiservers.map(({ section }) => section)).size).toBe(6);
    expect(restarts).toHaveLength(9);
  });

  it('is the same where the hosts have keys of their own by mistake: what each signs with is published to all first', () => {
    const [a, b] = [kubeadmWorld(['cp1'], 'a'), kubeadmWorld(['cp2'], 'b')];
    const start: World = { ...a, hosts: new Map([...a.hosts, ...b.hosts]) };
    const plan = rotate(start);
    expect(prove(proven(plan), start)).toMatchObject({ holds: true });
    expect(brokenEdges(plan.predicted)).toEqual([]);
  });

  it('is refused where no file takes public keys', () => {
    const start = kubeadmWorld(['cp1']);
    const host = start.hosts.get('cp1')!;
    const apiserver = host.services.get('kube-apiserver')!;
    const services = new Map(host.services).set('kube-apiserver', {
      ...apiserver,
      verificationFiles: [SIGNING],
    });
    const without = { ...start, hosts: new Map([['cp1', { ...host, services }]]) };
    expect(() => rotate(without)).toThrow(
      /no --service-account-key-file that public keys can be published in/,
    );
  });

  it('is refused where sa.pub holds what its reader would lose', () => {
    const broken = withFile(
      kubeadmWorld(['cp1']),
      'cp1',
      PUBLIC_KEYS,
      file({ problems: ['line 1: broken'] }),
    );
    expect(() => rotate(broken)).toThrow(/sa\.pub: line 1: broken/);
  });

  it('can be rolled back, by what sa.key was before', () => {
    const start = kubeadmWorld();
    const { predicted } = rotate(start);
    const before = [...predicted.hosts.keys()].reduce(
      (of, name) =>
        withFile(
          of,
          name,
          `${SIGNING}.certroll-previous`,
          file({ signingKey: 'shared key', verificationKeys: ['shared key'] }),
        ),
      predicted,
    );
    const draft = new Draft(before);
    rollBack(draft, beforeOf(start), site(before, SHARED));
    const plan = draft.finish('rollback');
    expect(prove(proven(plan), before)).toMatchObject({ holds: true });
    for (const host of plan.predicted.hosts.values())
      for (const { loaded } of host.services.values()) expect(loaded.signs).toBe('shared key');
  });

  it.each([
    ['restart-apiservers', [['apiserver/restart', { only: 'all' }]]],
    ['retire-sa-keys', ['sa-keys/retire', ['sa-keys/publish', { next: false }], ['apiserver/restart', {}]]],
  ] as const)('and so is %s', (_name, steps) => {
    const start = { ...kubeadmWorld(), legacyTokens: [] };
    const plan = planSteps(start, steps, SHARED);
    expect(prove(proven(plan), start)).toMatchObject({ holds: true });
  });
});
