import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kidOf } from '../../../src/pem/keys.js';
import { FakeApiserver } from './fake.js';

const ACCOUNT = { namespace: 'kube-system', name: 'default' };
let fake: FakeApiserver;
beforeAll(async () => {
  fake = await FakeApiserver.start();
});
afterAll(async () => fake.stop());

describe('a key list', () => {
  it('gives RSA and elliptic keys by the kid that Kubernetes makes of them', async () => {
    const keys = [
      generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey,
      ...['P-256', 'P-384', 'P-521'].map((namedCurve) => generateKeyPairSync('ec', { namedCurve }).publicKey),
    ];
    const jwks = keys.map((key) => ({ use: 'sig', kid: kidOf(key), ...key.export({ format: 'jwk' }) }));
    // kube-apiserver lists a key twice when it stands in two files.
    fake.answers(200, { keys: [...jwks, jwks[0]] });
    const found = await (await fake.open()).jwks();
    expect([...found.keys()]).toEqual(keys.map(kidOf));
    for (const [kid, pem] of found) {
      expect(pem).toMatch(/^-----BEGIN PUBLIC KEY-----/);
      expect(kidOf(createPublicKey(pem))).toBe(kid);
    }
  });

  it('of an external signer keeps the kids that its tokens carry', async () => {
    const jwk = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
    fake.answers(200, { keys: [{ kid: 'hsm-7', ...jwk }] });
    expect([...(await (await fake.open()).jwks()).keys()]).toEqual(['hsm-7']);
  });
});

describe('the readiness of an apiserver', () => {
  it('names the checks that fail', async () => {
    const lines = ['[+]ping ok', '[-]etcd failed: reason withheld', '[-]shutdown failed: reason withheld'];
    fake.answers(500, `${lines.join('\n')}\nreadyz check failed\n`);
    expect(await (await fake.open()).readyz()).toEqual({
      ready: false,
      detail: '[-]etcd failed: reason withheld; [-]shutdown failed: reason withheld',
    });
  });

  it('is no when nobody answers', async () => {
    const closed = await FakeApiserver.start();
    const server = await closed.open();
    await closed.stop();
    expect(await server.readyz()).toMatchObject({ ready: false });
  });
});

describe('a token review', () => {
  it.each([
    [{ authenticated: true }, { authenticated: true }],
    [{ error: 'invalid bearer token' }, { authenticated: false, error: 'invalid bearer token' }],
    [{}, { authenticated: false }],
  ])('that says %j is %j', async (status, expected) => {
    fake.answers(201, { status });
    expect(await (await fake.open()).reviewToken('t')).toEqual(expected);
  });
});

describe('an apiserver at an IPv6 address', () => {
  it('is asked there', async () => {
    const six = await FakeApiserver.start('::1');
    six.answers(200, { metadata: { uid: 'u-6' } });
    try {
      const server = await six.open({}, [], '::1');
      expect(server.url).toBe(`https://[::1]:${six.port}`);
      expect(await server.serviceAccountUid(ACCOUNT)).toBe('u-6');
    } finally {
      await six.stop();
    }
  });
});
