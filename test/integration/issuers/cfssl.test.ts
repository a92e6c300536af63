import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Issuer, IssuerOptions } from '../../../src/issuers/issuer.js';
import { openIssuer } from '../../../src/issuers/open.js';
import { AUTH_KEY, cfsslSettings, LABEL, TestCfssl, type CfsslSettings } from '../../support/cfssl.js';
import { failure } from '../../support/failure.js';
import { DAY, openssl, TestPki, type TestCert } from '../../support/pki.js';
import { freePort } from '../../support/ports.js';

let pki: TestPki;
let ca: TestCert;
let serve: TestCfssl;
let roots: TestCfssl;
let mutual: TestCfssl;
let csrPem: string;
const servers: TestCfssl[] = [];
const start = async (...args: Parameters<typeof TestCfssl.start>): Promise<TestCfssl> => {
  const started = await TestCfssl.start(...args);
  servers.push(started);
  return started;
};

const open = async (
  url: string,
  settings: Partial<Omit<CfsslSettings, 'type'>> = {},
  options: IssuerOptions = {},
): Promise<Issuer> => {
  const all = cfsslSettings({ url, ca: 'server-ca.crt', authKey: { file: 'auth.key' }, ...settings });
  const known = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  const issuer = await openIssuer(known as CfsslSettings, pki.dir, options);
  if (!issuer) throw new Error('no issuer');
  return issuer;
};
const issue = async (issuer: Issuer, ttlMs = 365 * DAY) => issuer.issue({ csrPem, ttlMs, now: new Date() });

beforeAll(async () => {
  pki = await TestPki.create();
  const serverCa = await pki.certificate('server-ca', { ca: true });
  ca = await pki.certificate('ca', { ca: true, to: new Date(Date.now() + 1000 * DAY) });
  const server = await pki.certificate('server', { issuer: serverCa, sans: ['DNS:localhost'] });
  await pki.certificate('client', { issuer: serverCa });
  await writeFile(pki.path('auth.key'), `${AUTH_KEY}\n`);
  await writeFile(pki.path('wrong.key'), 'aabbccdd\n');
  await writeFile(pki.path('words.key'), 'not hexadecimal\n');
  csrPem = await pki.csr('sa', await pki.key('sa'), 'service-accounts cp1');
  [serve, roots, mutual] = await Promise.all([
    start('cfssl', { ca, server }),
    start('multirootca', { ca, server }),
    start('cfssl', { ca, server, clientCa: serverCa }),
  ]);
});
afterAll(async () => {
  await Promise.all(servers.map(async (server) => server.stop()));
  await pki.remove();
});

describe('a PKI of cfssl', () => {
  it.each([
    ['cfssl serve', () => open(serve.url)],
    ['multirootca, by its default label', () => open(roots.url)],
    ['multirootca, by a label', () => open(roots.url, { label: LABEL })],
    ['a profile that needs no key', () => open(serve.url, { authKey: undefined, profile: 'open' })],
    ['an address with a slash at its end', () => open(`${serve.url}/`)],
    [
      'a server that asks for a client certificate',
      () => open(mutual.url, { cert: 'client.crt', key: 'client.key' }),
    ],
  ])('certifies a key through %s', async (_what, opened) => {
    const issuer = await opened();
    const state = await issuer.check(new Date());
    expect(state.caPem).toBe(ca.pem);
    const { pem, notAfter, capped } = await issue(issuer);
    expect(capped).toBe(false);
    // The profile gives 90 days, and the wish was for a year.
    expect(notAfter.getTime() - Date.now()).toBeLessThan(90 * DAY);
    await writeFile(pki.path('leaf.pem'), pem);
    await openssl('verify', '-x509_strict', '-CAfile', ca.certFile, pki.path('leaf.pem'));
    expect(await openssl('x509', '-in', pki.path('leaf.pem'), '-noout', '-pubkey')).toBe(
      await openssl('pkey', '-in', pki.path('sa.key'), '-pubout'),
    );
  });

  it('is described by its address, label and profile', async () => {
    const issuer = await open('https://pki.example.net:8888', { label: LABEL, profile: 'sa' });
    expect(issuer.description).toBe('cfssl https://pki.example.net:8888 (service_accounts, sa)');
  });
});

describe('a PKI of cfssl that refuses', () => {
  it.each([
    [
      'a wrong auth key',
      () => open(serve.url, { authKey: { file: 'wrong.key' } }),
      'issuer.auth',
      'invalid token',
    ],
    [
      'a wrong auth key',
      () => open(roots.url, { authKey: { file: 'wrong.key' } }),
      'issuer.auth',
      'invalid token',
    ],
    ['no auth key', () => open(serve.url, { authKey: undefined }), 'issuer.auth', 'authentication required'],
    [
      'no auth key',
      () => open(roots.url, { authKey: undefined }),
      'issuer.auth',
      'authenticated requests only',
    ],
    [
      'a key where none is used',
      () => open(serve.url, { profile: 'open' }),
      'issuer.auth',
      'no authentication',
    ],
    ['a profile it has not', () => open(roots.url, { profile: 'nix' }), 'issuer.refused', 'invalid profile'],
    ['a label it has not', () => open(roots.url, { label: 'nix' }), 'issuer.refused', 'bad label'],
  ])('%s is reported as it says', async (_what, opened, code, said) => {
    const error = await failure(issue(await opened()));
    expect(error.code).toBe(code);
    expect(error.message).toContain(said);
    expect(error.hint).toBeTruthy();
    for (const secret of [AUTH_KEY, 'aabbccdd', 'CERTIFICATE REQUEST'])
      expect(`${error.message} ${error.hint ?? ''} ${JSON.stringify(error)}`).not.toContain(secret);
  });

  it('its profile is seen before anything is changed, where the profile cannot do', async () => {
    const encipher = await failure((await open(serve.url, { profile: 'encipher' })).check(new Date()));
    expect(encipher).toMatchObject({ code: 'issuer.usage', exit: 2 });
    const short = await failure((await open(serve.url, { profile: 'short' })).check(new Date()));
    expect(short).toMatchObject({ code: 'issuer.ttl-too-short', exit: 2 });
    await (await open(serve.url, { profile: 'short' }, { renewWindowMs: 5 * DAY })).check(new Date());
  });

  it('a certificate that outlives the CA is not taken, as this version does not cap', async () => {
    const error = await failure(issue(await open(serve.url, { profile: 'long' }), 5000 * DAY));
    expect(error.code).toBe('issuer.dates');
    expect(error.message).toContain('CN=ca in its chain');
  });

  it.each([
    ['that is down', async () => open(`https://localhost:${await freePort()}`), 'issuer.unreachable'],
    ['whose name does not resolve', () => open('https://nowhere.invalid'), 'issuer.unreachable'],
    ['of another CA', () => open(serve.url, { ca: 'ca.crt' }), 'issuer.tls'],
    ['that the system does not know', () => open(serve.url, { ca: undefined }), 'issuer.tls'],
    [
      'under a name that is not its own',
      () => open(serve.url.replace('localhost', '127.0.0.1')),
      'issuer.tls',
    ],
    ['that asks for a client certificate', () => open(mutual.url), 'issuer.tls'],
  ])('to be reached: one %s', async (_what, opened, code) => {
    const error = await failure((await opened()).check(new Date()));
    expect(error).toMatchObject({ code, exit: 1 });
    expect(error.hint).toBeTruthy();
  });

  it.each([
    ['an auth key that is not hexadecimal', { authKey: { file: 'words.key' } }, 'issuer.auth'],
    ['an auth key that is not there', { authKey: { file: 'missing.key' } }, 'secret.unreadable'],
    ['a CA file that is not there', { ca: 'missing.crt' }, 'cluster-file.invalid'],
  ])('calls the cluster file wrong with %s', async (_what, settings, code) => {
    const error = await failure(issue(await open(serve.url, settings)));
    expect(error).toMatchObject({ code, exit: 2 });
    expect(error.message).not.toContain('not hexadecimal\n');
  });

  it('is not asked without TLS, except on this machine', async () => {
    const plain = await failure((await open('http://pki.example.net')).check(new Date()));
    expect(plain).toMatchObject({ code: 'issuer.insecure', exit: 2 });
    const local = await failure((await open(`http://127.0.0.1:${await freePort()}`)).check(new Date()));
    expect(local.code).toBe('issuer.unreachable');
  });
});
