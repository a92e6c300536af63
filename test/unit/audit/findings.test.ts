import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Component } from '../../../src/audit/consumers.js';
import { readFile } from '../../../src/audit/content.js';
import type { ClusterFacts } from '../../../src/audit/facts.js';
import { itemOf, loadedOf, type HostState, type ProcessState } from '../../../src/audit/inventory.js';
import { auditReportSchema, clusterReport } from '../../../src/audit/report.js';
import { failing, findingsOf, RULES } from '../../../src/audit/rules.js';
import { settingsOf, usesOf, type ComponentProcess } from '../../../src/audit/uses.js';
import { isSameName, isTrusted } from '../../../src/audit/verify.js';
import type { BundleObject, TrustObjects } from '../../../src/kube/trust-objects.js';
import type { LookedAt } from '../../../src/hosts/inspect.js';
import { renderAuditHtml } from '../../../src/report/audit-html.js';
import { renderCheckmk, renderNagios } from '../../../src/report/audit-monitoring.js';
import { renderAuditPrometheus } from '../../../src/report/audit-prometheus.js';
import { renderAuditTable } from '../../../src/report/audit-table.js';
import { DAY, TestPki, type TestCert } from '../../support/pki.js';

const NOW = new Date();
const STARTED = NOW.getTime() - 10 * DAY;
const BEFORE = STARTED - DAY;
const AFTER = STARTED + DAY;

let pki: TestPki;
const certs: Record<string, TestCert> = {};
beforeAll(async () => {
  pki = await TestPki.create();
  const make = async (name: string, options: Parameters<TestPki['certificate']>[1]): Promise<TestCert> =>
    (certs[name] = await pki.certificate(name, options));
  const ca = await make('ca', { ca: true });
  const other = await make('other', { ca: true });
  const middle = await make('middle', { ca: true, issuer: ca });
  await make('leaf', { issuer: ca, sans: ['IP:10.0.0.1'] });
  await make('deep', { issuer: middle });
  await make('foreign', { issuer: other });
  await make('old', {
    issuer: ca,
    from: new Date(NOW.getTime() - 9 * DAY),
    to: new Date(NOW.getTime() - DAY),
  });
  await make('soon', { issuer: ca, to: new Date(NOW.getTime() + 5 * DAY) });
  await make('early', { issuer: ca, from: new Date(NOW.getTime() + DAY) });
}, 60_000);
afterAll(() => pki.remove());

const publicHalf = (keyFile: string): string =>
  execFileSync('openssl', ['pkey', '-in', keyFile, '-pubout']).toString();

interface Given {
  readonly text?: string;
  readonly keyFile?: string;
  readonly changedAtMs?: number;
  readonly looked?: LookedAt;
  readonly mode?: number;
}

const fileOf = ({ text = '', keyFile, changedAtMs = BEFORE, looked, mode = 0o600 }: Given): LookedAt =>
  looked ?? {
    ...{
      kind: 'file',
      mode,
      changedAtMs,
      mtimeMs: changedAtMs,
      uid: 0,
      gid: 0,
      owner: 'root',
      group: 'root',
      text,
    },
    ...(keyFile !== undefined && { publicKeyPem: publicHalf(keyFile) }),
  };

interface HostGiven {
  readonly component?: Component;
  /** Flag → what its file holds. */
  readonly files?: Readonly<Record<string, Given>>;
  readonly served?: string;
  readonly state?: Partial<ProcessState>;
  readonly host?: Partial<HostState>;
  readonly denied?: readonly string[];
}

/** A host with one process, whose flags name a file `/FLAG` each. */
const host = (name: string, given: HostGiven): HostState => {
  const { component = 'kube-apiserver', files = {}, denied = [], served } = given;
  const flags = Object.keys(files);
  const process: ComponentProcess = {
    ...{ program: component, pid: 7, startedAtMs: STARTED, environment: new Map<string, string>() },
    argv: [component, ...flags.map((flag) => `--${flag}=/${flag}`)],
    ...{ user: 'kube', uid: 1, gid: 1, groups: [], root: '', cwd: '/' },
  };
  const address = '127.0.0.1:6443';
  return {
    ...{ name, role: 'node', clockOffsetMs: 0, unread: [], manifests: new Map() },
    processes: [
      {
        component,
        pid: 7,
        startedAtMs: STARTED,
        user: 'kube',
        changedFlags: [],
        advertised: [],
        ...given.state,
      },
    ],
    items: usesOf(process, settingsOf(process)).map((use) =>
      itemOf(use, {
        ...{ host: name, process, denied: new Set(denied), nowMs: NOW.getTime() },
        files: new Map(flags.map((flag) => [`/${flag}`, fileOf(files[flag] ?? {})])),
        ports: served === undefined ? [] : [{ component, pid: 7, role: 'serving certificate', address }],
        served: served === undefined ? [] : [{ address, certificates: served, authorities: [] }],
      }),
    ),
    ...given.host,
  };
};

const facts = (hosts: readonly HostState[], more: Partial<ClusterFacts> = {}): ClusterFacts => ({
  ...{ cluster: 'prod', now: NOW, limits: { renewBeforeMs: 30 * DAY, clockSkewMs: 10_000 } },
  ...{ hosts, failures: [], jwks: new Map(), ...more },
});
const found = (hosts: readonly HostState[], more?: Partial<ClusterFacts>): readonly string[] => [
  ...new Set(findingsOf(facts(hosts, more)).map(({ rule, severity }) => `${severity} ${rule}`)),
];
const one = (given: HostGiven): readonly string[] => found([host('cp1', given)]);
const pem = (...names: readonly string[]): string => names.map((name) => certs[name]!.pem).join('');
const serving = (name: string, more: Given = {}): Readonly<Record<string, Given>> => ({
  'tls-cert-file': { text: pem(name), ...more },
  'tls-private-key-file': { keyFile: certs[name]!.keyFile },
});

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
    const waits = (ms: number) => ({ name: 'csr-1', signer: 's', createdAt: new Date(NOW.getTime() - ms) });
    expect(found([], objects([], { pending: [waits(60_000)] }))).toEqual([]);
    expect(found([], objects([], { pending: [waits(DAY)] }))).toEqual(['warning csr-pending']);
    expect(found([], objects([], { unread: [{ what: 'x', why: 'forbidden' }] }))).toEqual([
      'info api-not-read',
    ]);
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

describe('a way to a root', () => {
  const views = (...names: readonly string[]) =>
    readFile({ kind: 'certificate', text: pem(...names) }).certificates;
  it.each([
    [['leaf'], ['ca'], true],
    [['leaf'], ['other', 'ca'], true],
    [['leaf'], ['other'], false],
    [['deep'], ['ca'], false],
    [['deep', 'middle'], ['ca'], true],
    [['deep', 'other', 'middle'], ['ca'], true],
    [['deep'], ['middle'], true],
    [['ca'], ['ca'], true],
    [['leaf'], ['leaf'], true],
    [[], ['ca'], false],
    [['leaf'], [], false],
  ] as const)('%j by %j: %s, as openssl finds', (chain, roots, expected) => {
    expect(isTrusted(views(...chain), views(...roots))).toBe(expected);
    if (chain.length === 0 || roots.length === 0) return;
    const bundle = `${pki.dir}/roots.pem`;
    const rest = `${pki.dir}/rest.pem`;
    execFileSync('sh', ['-c', 'cat > "$1"', 'sh', bundle], { input: pem(...roots) });
    execFileSync('sh', ['-c', 'cat > "$1"', 'sh', rest], { input: pem(...chain.slice(1)) });
    const untrusted = chain.length > 1 ? ['-untrusted', rest] : [];
    const words = ['verify', '-partial_chain', '-CAfile', bundle, ...untrusted, certs[chain[0]]!.certFile];
    let isFound = true;
    try {
      execFileSync('openssl', words, { stdio: 'pipe' });
    } catch {
      isFound = false;
    }
    expect(isFound).toBe(expected);
  });

  it('is none over one that has expired, when dates count', () => {
    expect(isTrusted(views('old'), views('ca'))).toBe(true);
    expect(isTrusted(views('old'), views('ca'), NOW)).toBe(false);
  });

  it('knows a name however it is written', () => {
    expect(isSameName('CN=a,O=b', 'O=b, CN=a')).toBe(true);
    expect(isSameName('CN = a\nO = b', 'CN=a,O=b')).toBe(true);
    expect(isSameName('CN=a', 'CN=b')).toBe(false);
  });
});

it('what is loaded is stale only where that is known, whatever the times are', () => {
  const time = fc.integer({ min: 0, max: 1e9 });
  fc.assert(
    fc.property(
      time,
      time,
      time,
      fc.constantFrom('live', 'restart'),
      (changedAtMs, startedAtMs, later, reload) => {
        const nowMs = Math.max(changedAtMs, startedAtMs) + later;
        const times = { startedAtMs, nowMs };
        const { state } = loadedOf(
          { reload },
          fileOf({ changedAtMs }),
          { certificates: [] },
          undefined,
          times,
        );
        if (changedAtMs < startedAtMs) expect(state).toBe('same');
        else
          expect(state).toBe(
            reload === 'restart' ? 'stale' : nowMs - changedAtMs > 300_000 ? 'same' : 'unknown',
          );
      },
    ),
  );
});

describe('the formats', () => {
  const report = () => ({
    version: 1 as const,
    at: NOW.toISOString(),
    clusters: [
      clusterReport(
        facts(
          [
            host('<b>cp1</b>', {
              files: { ...serving('old'), 'client-ca-file': { text: pem('ca') } },
              served: pem('leaf'),
            }),
          ],
          {
            failures: [{ host: 'cp9', text: 'line\n| "x" \u001b[31m<script>', hint: 'do' }],
          },
        ),
      ),
    ],
  });

  it('JSON is what the schema says', () => {
    expect(auditReportSchema.parse(JSON.parse(JSON.stringify(report())))).toEqual(report());
  });

  it('the page stands by itself, escapes what hosts say and needs no script', () => {
    const page = renderAuditHtml(report());
    expect(page).not.toMatch(/<script|<b>cp1|\u001b|src=|href="http/);
    expect(page).toContain('&lt;b&gt;cp1&lt;/b&gt;');
    expect(page).toMatch(/expired 1d ago/);
    expect(page).toMatch(/@media print/);
  });

  it('metrics have one type and help each, one line a series, and escaped labels', () => {
    const lines = renderAuditPrometheus(report()).trimEnd().split('\n');
    const series = lines.filter((line) => !line.startsWith('#')).map((line) => line.replace(/ [^ ]+$/, ''));
    expect(new Set(series).size).toBe(series.length);
    const types = lines.filter((line) => line.startsWith('# TYPE'));
    expect(new Set(types).size).toBe(types.length);
    for (const line of lines.filter((each) => !each.startsWith('#')))
      expect(line).toMatch(/^[a-z_]+\{([a-z_]+="([^"\\\n]|\\.)*",?)+\} -?[0-9.]+$/);
    const [end] = lines.filter((line) => /not_after_.*place="served"/.test(line));
    expect(end).toMatch(/ \d{10}$/);
  });

  it('monitoring gets one line, with a bar only before the metrics', () => {
    expect(renderNagios(report())).toMatch(
      /^CERTROLL CRITICAL - prod: \d+ critical, 1 warning, 0 info: [^|\n\u001b]+ \| critical=\d+ warnings=1 days_left=-\d+$/,
    );
    expect(renderCheckmk(report())).toMatch(
      /^2 "certroll prod" critical=\d+\|warnings=1\|days_left=-\d+ \d+ critical[^|\n]+$/,
    );
  });

  it.each([60, 120, Infinity])('the table fits %s columns', (width) => {
    const text = renderAuditTable(report(), { color: false, unicode: true, width });
    expect(text).toContain('certificate-expired');
    if (width === 120) {
      const table = text.split('\n\n')[0]!.split('\n').slice(1);
      for (const line of table) expect(line.length).toBeLessThanOrEqual(120);
    }
  });
});
