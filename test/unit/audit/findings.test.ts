import { readFile } from '../../../src/audit/content.js';
import { describe, expect, it } from 'vitest';
import { clusterReport } from '../../../src/audit/report.js';
import { failing, findingsOf, RULES } from '../../../src/audit/rules.js';
import type { BundleObject, TrustObjects } from '../../../src/kube/trust-objects.js';
import type { LookedAt } from '../../../src/hosts/inspect.js';
import type { HostState } from '../../../src/audit/inventory.js';
import { DAY } from '../../support/pki.js';
import {
  AFTER,
  certs,
  facts,
  fileOf,
  found,
  host,
  NOW,
  one,
  pem,
  publicHalf,
  serving,
  withCertificates,
  type Given,
} from './seen.js';

withCertificates();

describe('an audit', () => {
  it('finds nothing where nothing is wrong', () => {
    const files = { ...serving('leaf'), 'client-ca-file': { text: pem('ca') } };
    const state = { advertised: [{ role: 'serving certificate', name: '10.0.0.1', named: '--x' }] };
    expect(one({ files, served: pem('leaf'), state })).toEqual([]);
  });

  it.each([
    ['old', 'critical certificate-expired'],
    ['soon', 'warning certificate-expiring'],
    ['early', 'critical certificate-not-yet-valid'],
  ])('finds a certificate that is %s: %s', (name, finding) => {
    expect(one({ files: serving(name) })).toEqual([finding]);
  });

  it('takes an expired authority beside a good one for what may go', () => {
    expect(one({ files: { 'client-ca-file': { text: pem('ca', 'old') } } })).toEqual([
      'info certificate-expired',
    ]);
    expect(one({ files: { 'client-ca-file': { text: pem('old') } } })).toEqual([
      'critical certificate-expired',
    ]);
  });

  it('finds a certificate that is served and not on disk any more, and when that one expires', () => {
    expect(one({ files: serving('leaf'), served: pem('soon') })).toEqual([
      'warning certificate-expiring',
      'warning stale-in-memory',
    ]);
  });

  it('goes by the start where nothing is served, for what is read at a start only', () => {
    const changed = { changedAtMs: AFTER };
    const files = {
      'etcd-cafile': { text: pem('ca'), ...changed },
      'client-ca-file': { text: pem('ca'), ...changed },
    };
    expect(one({ files })).toEqual(['warning stale-in-memory']);
    expect(clusterReport(facts([host('cp1', { files })])).items.map(({ loaded }) => loaded.state)).toEqual([
      'same',
      'stale',
    ]);
  });

  it('finds a key that is not that of the certificate', () => {
    const files = { ...serving('leaf'), 'tls-private-key-file': { keyFile: certs['ca']!.keyFile } };
    expect(one({ files })).toEqual(['critical key-mismatch']);
    // The old pair goes on being served: a restart is no remedy, and not called one.
    expect(one({ files, served: pem('deep') })).toEqual(['critical key-mismatch']);
  });

  it("finds a kubelet's current certificate that is no link", () => {
    const files = {
      'tls-cert-file': { text: pem('leaf') },
      'tls-private-key-file': { keyFile: certs['leaf']!.keyFile },
    };
    const given = host('node1', { component: 'kubelet', files });
    const path = '/var/lib/kubelet/pki/kubelet-client-current.pem';
    const at = (file: LookedAt | undefined): readonly string[] =>
      found([{ ...given, items: given.items.map((item) => ({ ...item, path, file })) }]);
    const file = fileOf({ text: pem('leaf') });
    expect(at(file)).toEqual(['warning kubelet-current-is-no-link']);
    expect(at({ ...file, linkTo: 'kubelet-client-2026-01-01.pem' } as LookedAt)).toEqual([]);
  });

  it('finds a pair that nobody vouches for, on disk and as it runs', () => {
    const etcd = (ca: string, more: Given = {}): HostState =>
      host('etcd1', { component: 'etcd', files: { 'trusted-ca-file': { text: pem(ca), ...more } } });
    const api = host('cp1', {
      files: {
        'etcd-certfile': { text: pem('leaf') },
        'etcd-keyfile': { keyFile: certs['leaf']!.keyFile },
      },
    });
    expect(found([api, etcd('ca')])).toEqual([]);
    expect(found([api, etcd('other')])).toEqual(['critical chain-broken']);
    expect(found([api, etcd('other', { changedAtMs: AFTER })])).toEqual([
      'critical chain-broken-on-disk',
      'warning stale-in-memory',
    ]);
  });

  it('finds tokens that another apiserver refuses, now and after its restart', () => {
    const cp = (name: string, signs: string, verifies: readonly string[]): HostState =>
      host(name, {
        files: {
          'service-account-signing-key-file': { keyFile: certs[signs]!.keyFile },
          'service-account-key-file': { text: pem(...verifies) },
        },
      });
    expect(found([cp('cp1', 'leaf', ['leaf', 'deep']), cp('cp2', 'deep', ['leaf', 'deep'])])).toEqual([]);
    expect(found([cp('cp1', 'leaf', ['leaf']), cp('cp2', 'deep', ['leaf', 'deep'])])).toEqual([
      'critical token-unverifiable',
    ]);
  });

  it('goes by what the apiserver itself says of its keys', () => {
    const files = {
      'service-account-signing-key-file': { keyFile: certs['leaf']!.keyFile },
      'service-account-key-file': { text: pem('leaf') },
    };
    expect(found([host('cp1', { files })], { jwks: new Map([['cp1', []]]) })).toEqual([
      'critical token-unverifiable',
    ]);
  });

  it('finds an address that the certificate does not name', () => {
    const state = {
      advertised: [{ role: 'serving certificate', name: '10.0.0.2', named: '--advertise-address' }],
    };
    expect(one({ files: serving('leaf'), state })).toEqual(['warning san-missing']);
  });

  it('finds one certificate on two hosts, and two with one serial', () => {
    const twice = ['cp1', 'cp2'].map((name) => host(name, { files: serving('leaf') }));
    expect(found(twice)).toEqual(['info serial-on-two-hosts']);
  });

  it('finds a key that serves and signs tokens', () => {
    const files = {
      ...serving('leaf'),
      'service-account-signing-key-file': { keyFile: certs['leaf']!.keyFile },
    };
    expect(one({ files })).toEqual(['warning same-key-in-two-roles']);
  });

  it('finds one authority for clients and the front proxy', () => {
    const files = {
      'client-ca-file': { text: pem('ca') },
      'requestheader-client-ca-file': { text: pem('other', 'ca') },
    };
    expect(one({ files })).toEqual(['warning requestheader-ca-is-client-ca']);
  });

  it.each<readonly [string, Given, string]>([
    ['is gone', { looked: { kind: 'absent' } }, 'critical file-missing'],
    ['is a link to nothing', { looked: { kind: 'absent', linkTo: 'x' } }, 'critical file-missing'],
    ['nobody may look at', { looked: { kind: 'unreadable', why: 'no' } }, 'warning not-readable'],
    ['is empty', { text: '' }, 'critical pem-block-lost'],
    ['is indented', { text: '  -----BEGIN CERTIFICATE-----\n' }, 'critical pem-block-lost'],
  ])('finds a file that %s', (_what, given, finding) => {
    expect(one({ files: { 'client-ca-file': given } })).toEqual([finding]);
  });

  it('finds a block that is lost beside one that is not', () => {
    const text = (pem('ca') + pem('other')).replace('-----\n-----BEGIN', '----------BEGIN');
    expect(one({ files: { 'client-ca-file': { text: pem('ca') + text } } })).toEqual([
      'warning pem-block-lost',
    ]);
  });

  it('finds a file that the user of the service cannot read, and a key that everybody can', () => {
    const files = { 'tls-private-key-file': { keyFile: certs['leaf']!.keyFile, mode: 0o644 } };
    expect(one({ files, denied: ['/tls-private-key-file'] })).toEqual([
      'critical unreadable-by-service',
      'warning key-readable-by-others',
    ]);
  });

  it('finds a signing certificate that is a bundle', () => {
    const files = {
      'cluster-signing-cert-file': { text: pem('ca', 'other') },
      'cluster-signing-key-file': { keyFile: certs['ca']!.keyFile },
    };
    expect(one({ component: 'kube-controller-manager', files })).toEqual([
      'critical signing-certificate-bundle',
    ]);
  });

  it('finds an apiserver that has run for nearly a year', () => {
    const old = (days: number): readonly string[] =>
      one({ state: { startedAtMs: NOW.getTime() - days * DAY } });
    expect(old(300)).toEqual([]);
    expect(old(340)).toEqual(['warning apiserver-loopback-certificate']);
    expect(old(366)).toEqual(['critical apiserver-loopback-certificate']);
  });

  it('finds clocks, stray manifests, missing processes, changed flags and documents that were not read', () => {
    const bad: Partial<HostState> = {
      ...{ clockOffsetMs: 11_000, role: 'control-plane', processes: [] },
      manifests: new Map([['/m', ['a.yaml', 'a.yaml.bak', '.a.swp']]]),
      unread: [{ path: '/k', component: 'kubelet', why: 'it is JSON' }],
    };
    expect(found([host('cp1', { host: bad })])).toEqual([
      'critical no-apiserver-process',
      'warning clock-skew',
      'warning stray-manifest',
      'warning document-not-read',
    ]);
    expect(one({ state: { changedFlags: ['--client-ca-file'] } })).toEqual(['info flags-changed']);
    const failures = [{ host: 'cp9', text: 'no route', hint: undefined }];
    expect(found([], { failures })).toEqual(['critical not-seen']);
  });

  it('finds objects of the API that do not vouch for what is shown, are damaged, or wait', () => {
    const bundle = (name: string, part: string, text: string, namespace?: string) => ({
      ...{ kind: 'ConfigMap', name, part, namespace, pem: text },
    });
    const objects = (bundles: readonly BundleObject[], more: Partial<TrustObjects> = {}) => ({
      objects: { bundles, pending: [], unread: [], ...more },
    });
    const cp = host('cp1', { files: serving('leaf') });
    const root = (text: string, namespace: string) =>
      bundle('kube-root-ca.crt', 'data.ca.crt', text, namespace);
    expect(found([cp], objects([root(pem('ca'), 'a'), root(pem('other', 'ca'), 'b')]))).toEqual([]);
    const lagging = findingsOf(
      facts([cp], objects([root(pem('ca'), 'a'), root(pem('other'), 'b'), root(pem('other'), 'c')])),
    );
    expect(lagging.map(({ rule, text }) => [rule, text])).toEqual([
      [
        'api-bundle-lags',
        expect.stringContaining('b/kube-root-ca.crt (data.ca.crt) and in 1 more namespaces'),
      ],
    ]);
    expect(found([], objects([bundle('x', 'webhook', 'nothing')]))).toEqual(['warning api-bundle-broken']);
    expect(found([], objects([bundle('x', 'webhook', pem('old'))]))).toEqual(['critical api-bundle-broken']);
    expect(found([], objects([bundle('x', 'webhook', pem('soon'))]))).toEqual([
      'warning api-bundle-expiring',
    ]);
    expect(found([], objects([bundle('x', 'webhook', pem('soon', 'ca'))]))).toEqual([]);
    const unread = (isForbidden: boolean) => ({ what: 'x', why: 'because', isForbidden });
    const waits = (ms: number) => ({ name: 'csr-1', signer: 's', createdAt: new Date(NOW.getTime() - ms) });
    expect(found([], objects([], { pending: [waits(60_000)] }))).toEqual([]);
    expect(found([], objects([], { pending: [waits(DAY)] }))).toEqual(['warning csr-pending']);
    expect(found([], objects([], { unread: [unread(true)] }))).toEqual(['info api-not-read']);
    expect(found([], objects([], { unread: [unread(false)] }))).toEqual(['warning api-not-read']);
  });

  it('tells of servers that kube-apiserver would refuse, by the bundle in the object that names them', () => {
    const serves = { address: '10.0.0.1:443', serverName: '10.0.0.1' };
    const seen = (bundleText: string, shown: string, serverName = serves.serverName) => {
      const hook = {
        ...{ kind: 'ValidatingWebhookConfiguration', namespace: undefined, name: 'v', part: 'w' },
        ...{ pem: bundleText, serves: { ...serves, serverName } },
      };
      const chain = readFile({ kind: 'certificate', text: shown }).certificates;
      return found([], {
        objects: { bundles: [hook], pending: [], unread: [] },
        endpoints: new Map([[`${serves.address} ${serverName}`, { from: 'cp1', chain }]]),
      });
    };
    expect(seen(pem('ca'), pem('leaf'))).toEqual([]);
    expect(seen(pem('other', 'ca'), pem('leaf'))).toEqual([]);
    expect(seen(pem('other'), pem('leaf'))).toEqual(['critical api-endpoint-refused']);
    expect(seen(pem('ca'), pem('leaf'), 'hook.n.svc')).toEqual(['critical api-endpoint-refused']);
    expect(seen(pem('ca'), pem('over'))).toEqual(['critical api-endpoint-refused']);
    expect(seen(pem('ca'), '')).toEqual(['info api-endpoint-not-seen']);
  });

  it('tells of TLS Secrets that end, have ended, or do not fit together', () => {
    const seen = (text: string, key?: string) =>
      found([], {
        objects: {
          ...{ bundles: [], pending: [], unread: [] },
          secrets: [
            {
              ...{ namespace: 'n', name: 's', pem: text },
              publicKeyPem: key === undefined ? undefined : publicHalf(certs[key]!.keyFile),
            },
          ],
        },
      });
    expect(seen(pem('leaf'), 'leaf')).toEqual([]);
    expect(seen(pem('deep', 'middle'), 'deep')).toEqual([]);
    expect(seen(pem('old'), 'old')).toEqual(['warning tls-secret-expired']);
    expect(seen(pem('leaf', 'old'), 'leaf')).toEqual(['warning tls-secret-expired']);
    expect(seen(pem('soon'), 'soon')).toEqual(['warning tls-secret-expiring']);
    expect(seen(pem('day'), 'day')).toEqual([]);
    expect(seen(pem('leaf'), 'old')).toEqual(['warning tls-secret-broken']);
    expect(seen(pem('leaf'))).toEqual(['warning tls-secret-broken']);
    expect(seen('')).toEqual(['warning tls-secret-broken']);
    expect(seen('nonsense', 'leaf')).toEqual(['warning tls-secret-broken']);
  });

  it('has rules with names of their own that say why and what to do', () => {
    expect(new Set(RULES.map(({ id }) => id)).size).toBe(RULES.length);
    for (const { why, action } of RULES) expect([why, action].every((text) => text.endsWith('.'))).toBe(true);
  });

  it('fails on what is as grave as was asked, and graver', () => {
    const all = (['info', 'warning', 'critical'] as const).map((severity) => ({ severity }));
    expect((['info', 'warning', 'critical'] as const).map((least) => failing(all, least).length)).toEqual([
      3, 2, 1,
    ]);
  });
});
