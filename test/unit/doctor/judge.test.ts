import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judgeHostKey, judgeTlsFailure } from '../../../src/doctor/advice.js';
import { judgeLives } from '../../../src/doctor/certificates.js';
import { judgeClocks } from '../../../src/doctor/clock.js';
import { judgeIdentities } from '../../../src/doctor/identities.js';
import { judgeRight, rightsFor } from '../../../src/doctor/rights.js';
import { judgeKeyFiles, judgeService } from '../../../src/doctor/services.js';
import { judgeTools } from '../../../src/doctor/tools.js';
import type { FileFact } from '../../../src/hosts/host.js';
import { parseApiserverFlags } from '../../../src/kube/flags.js';

const DAY = 86_400_000;
const now = new Date('2026-01-10T00:00:00Z');
const life = (what: string, days: number, since = -10) => ({
  what,
  notBefore: new Date(now.getTime() + since * DAY),
  notAfter: new Date(now.getTime() + days * DAY),
});
const limits = { now, renewBeforeMs: 30 * DAY };

describe('the life of certificates', () => {
  it.each([
    ['ok', [life('a', 31), life('b', 100)], /all good for 31d/],
    ['warning', [life('a', 400), life('b', 29)], /the b expires in 29d/],
    ['failed', [life('a', 5), life('b', -1)], /the b expired 1d ago/],
    ['failed', [life('a', 5, 1)], /not valid before 2026-01-11.*it is 2026-01-10/],
    ['failed', [life('a', 0)], /expired/],
    ['ok', [], /no certificate/],
  ] as const)('is %s', (state, lives, text) => {
    const verdict = judgeLives(lives, limits, 'renew it');
    expect(verdict).toMatchObject({ state, text: expect.stringMatching(text) as string });
    if (verdict.state !== 'ok') expect(verdict.advice.length).toBeGreaterThan(0);
  });
});

describe('clocks', () => {
  const judge = (offsets: Readonly<Record<string, number>>) =>
    judgeClocks(new Map(Object.entries(offsets)), 10_000);

  it('of one host that is off is its own; of most that agree it is the one of the bastion', () => {
    const one = judge({ a: 0, b: 60_000, c: -200 });
    expect(one.bastion.state).toBe('ok');
    expect([...one.hosts].map(([name, { state }]) => [name, state])).toEqual([
      ['a', 'ok'],
      ['b', 'failed'],
      ['c', 'ok'],
    ]);
    const most = judge({ a: 60_000, b: 60_100, c: 0 });
    expect(most.bastion).toMatchObject({ state: 'failed' });
    expect(most.hosts.get('a')?.state).toBe('ok');
    // By what most say, the third is off.
    expect(most.hosts.get('c')?.state).toBe('failed');
  });

  it('of a single host says nothing about the bastion; two hosts that do not agree are both off', () => {
    expect(judge({ a: 60_000 })).toMatchObject({ bastion: { state: 'ok' } });
    expect(judge({ a: 60_000 }).hosts.get('a')?.state).toBe('failed');
    const two = judge({ a: 60_000, b: -60_000 });
    expect(two.bastion.state).toBe('ok');
    expect([...two.hosts.values()].map(({ state }) => state)).toEqual(['failed', 'failed']);
    expect(judgeClocks(new Map(), 1).bastion.state).toBe('ok');
  });

  it('never blame anyone when all are within the limit, and always someone when one is not', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -40_000, max: 40_000 }), { minLength: 1 }), (offsets) => {
        const { bastion, hosts } = judgeClocks(new Map(offsets.map((each, at) => [`h${at}`, each])), 10_000);
        const isAnyOff = offsets.some((offset) => Math.abs(offset) > 10_000);
        const isAnyBlamed = [bastion, ...hosts.values()].some(({ state }) => state === 'failed');
        expect(isAnyBlamed).toBe(isAnyOff);
      }),
    );
  });
});

describe('programs of a host', () => {
  const there = (name: string, detail = '') => ({ name, state: 'there' as const, detail });
  it.each([
    ['ok', [there('openssl', 'OpenSSL 3.0.19 27 Jan 2026 (Library: x)'), there('stat')], /OpenSSL 3\.0\.19/],
    ['ok', [there('openssl', 'OpenSSL 1.1.1w  11 Sep 2023')], /1\.1\.1w/],
    ['failed', [there('openssl', 'OpenSSL 1.1.0l')], /1\.1\.1 is the oldest/],
    ['failed', [there('openssl', 'OpenSSL 1.0.2k-fips')], /1\.1\.1 is the oldest/],
    ['failed', [there('openssl', 'LibreSSL 3.3.6')], /LibreSSL/],
    ['failed', [{ name: 'getent', state: 'missing', detail: '' }], /it has no getent/],
    ['failed', [{ name: 'stat', state: 'unfit', detail: 'BusyBox v1' }], /stat does not do.*BusyBox v1/],
    ['warning', [{ name: 'setpriv', state: 'missing', detail: '' }], /it has no setpriv/],
    ['failed', undefined, /did not come to its end/],
  ] as const)('are %s', (state, facts, text) => {
    expect(judgeTools(facts)).toMatchObject({ state, text: expect.stringMatching(text) as string });
  });
});

describe('keys to log in with', () => {
  const none = { usable: [], problems: ['/k is encrypted'], agent: undefined, isOpenssh: false };
  it.each([
    ['ok', { ...none, usable: ['/a'] }, /^\/a$/],
    ['ok', { ...none, agent: { socket: '/s', keys: 2 } }, /2 in ssh-agent/],
    ['failed', none, /\/k is encrypted; no ssh-agent is used/],
    ['failed', { ...none, agent: { socket: '/s', keys: 0 } }, /holds no key/],
    ['failed', { ...none, agent: { failed: 'ENOENT' } }, /does not answer \(ENOENT\)/],
    ['warning', { ...none, isOpenssh: true }, /ssh may still have another way/],
  ] as const)('are %s', (state, seen, text) => {
    expect(judgeIdentities(seen)).toMatchObject({ state, text: expect.stringMatching(text) as string });
  });
});

describe('advice', () => {
  it('names what a certificate carries only where the name is the fault', () => {
    const shown = { wanted: 'x', setting: 'api.serverName', shown: { names: ['a', '10.0.0.1'] } };
    const name = judgeTlsFailure("Hostname/IP does not match certificate's altnames: …", 'hint', shown);
    expect(name).toMatchObject({ advice: expect.stringContaining('It carries a, 10.0.0.1.') as string });
    expect(judgeTlsFailure('self-signed certificate in chain', 'hint', shown)).toMatchObject({
      text: 'self-signed certificate in chain',
      advice: 'hint',
    });
    expect(
      judgeTlsFailure("does not match certificate's altnames", 'hint', { ...shown, shown: undefined }),
    ).toMatchObject({ advice: expect.stringContaining('Set api.serverName') as string });
  });

  it('for a host key gives the line to compare, and says where to compare it', () => {
    const place = { hostname: 'cp1', port: 2222, knownHostsFile: '/k' };
    const key = { type: 'ssh-rsa', fingerprint: 'SHA256:abc', line: '[cp1]:2222 ssh-rsa AAAA' };
    const verdict = judgeHostKey('refused', key, place);
    expect(verdict).toMatchObject({ state: 'failed', text: 'refused; it presents ssh-rsa SHA256:abc' });
    expect(verdict).toMatchObject({
      advice: expect.stringMatching(/ssh_host_rsa_key\.pub.*into \/k.*\[cp1\]:2222 ssh-rsa AAAA/) as string,
    });
    expect(judgeHostKey('refused', undefined, place)).toMatchObject({
      advice: expect.stringContaining('ssh-keyscan -p 2222 cp1') as string,
    });
  });

  it('for a service names what runs it instead', () => {
    const spec = { kind: 'systemd', unit: 'apiserver.service' } as const;
    const fact = { running: false, detail: 'apiserver.service is inactive (dead, not-found)' } as const;
    const seen = { service: 'kube-apiserver', spec, fact, elsewhere: ['the unit kube-apiserver.service'] };
    expect(judgeService(seen)).toMatchObject({
      state: 'failed',
      advice: expect.stringMatching(/the unit kube-apiserver\.service is a kube-apiserver there/) as string,
    });
    expect(judgeService({ ...seen, elsewhere: [] })).toMatchObject({
      advice: expect.stringMatching(/^Start it, or set services\.apiserver/) as string,
    });
  });
});

describe('rights', () => {
  const rights = rightsFor({ namespace: 'kube-system', name: 'probe' });

  it('that a rotation needs are failures, others warnings that name the jobs', () => {
    for (const right of rights) {
      expect(judgeRight(right, { allowed: true, reason: '' }).state).toBe('ok');
      const verdict = judgeRight(right, { allowed: false, reason: '' });
      expect(verdict.state).toBe(right.isNeeded ? 'failed' : 'warning');
      expect(verdict.text).toContain(right.jobs);
      if (verdict.state !== 'ok') expect(verdict.advice).toMatch(/rule \{.*verbs: \["[a-z]+"\]\}$/);
    }
    expect(new Set(rights.map(({ text }) => text)).size).toBe(rights.length);
  });
});

describe('key files', () => {
  const flags = parseApiserverFlags([
    'kube-apiserver',
    '--service-account-signing-key-file=/sa.key',
    '--service-account-key-file=/bundle.pem',
  ]);
  const about = { sha256: '', mode: 0o600, owner: 'root', group: 'root', changedAtMs: 0, mtimeMs: 0 };
  const files = (bundle: string, publicKeyPem = 'PEM'): ReadonlyMap<string, FileFact> =>
    new Map<string, FileFact>([
      ['/sa.key', { exists: true, path: '/sa.key', ...about, publicKeyPem }],
      ['/bundle.pem', { exists: true, path: '/bundle.pem', ...about, content: bundle }],
    ]);

  it.each([
    ['a damaged bundle', '-----BEGIN PUBLIC KEY-----\nnope\n', undefined, /\/bundle\.pem: /],
    ['a bundle that no flag names', '', '/other.pem', /serviceAccounts\.bundle is \/other\.pem/],
  ])('with %s are a failure', (_what, text, bundle, message) => {
    expect(judgeKeyFiles(flags, files(text), bundle)).toMatchObject({
      state: 'failed',
      text: expect.stringMatching(message) as string,
    });
  });

  it('that are not there, or with an external signer, are told', () => {
    expect(judgeKeyFiles(flags, new Map(), undefined).text).toContain('/sa.key does not exist');
    const external = parseApiserverFlags(['--service-account-signing-endpoint=/run/s.sock']);
    expect(judgeKeyFiles(external, new Map(), undefined)).toMatchObject({
      advice: expect.stringContaining('--service-account-signing-endpoint') as string,
    });
  });
});
