import { execa } from 'execa';
import { createPrivateKey } from 'node:crypto';
import { appendFile, copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kidOf } from '../../../src/pem/keys.js';
import type { PlaygroundHost } from '../../playground/host.js';
import { Playground } from '../../playground/playground.js';
import { scratch } from './scratch.js';

// With KUBE_APISERVER set, the same questions go to a real kube-apiserver: its answers are the measure.
const ACCOUNT = '/api/v1/namespaces/kube-system/serviceaccounts/default';
const dir = scratch('pg-api');
let playground: Playground;
let first: PlaygroundHost;
let second: PlaygroundHost;
let third: PlaygroundHost;

const mint = async (host: PlaygroundHost): Promise<string> => {
  const answer = await host.ask(`${ACCOUNT}/token`, {
    method: 'POST',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 600 } },
  });
  return (JSON.parse(answer.body) as { status: { token: string } }).status.token;
};

/** What the apiserver says to a request with the token. */
const use = async (host: PlaygroundHost, token: string): Promise<number> =>
  (await host.ask('/api/v1/namespaces', { as: { token } })).status;

const jwks = async (host: PlaygroundHost): Promise<readonly string[]> => {
  const { keys } = JSON.parse((await host.ask('/openid/v1/jwks')).body) as {
    keys: readonly { kid: string }[];
  };
  // A key that lies in two files is listed twice.
  return [...new Set(keys.map(({ kid }) => kid))];
};

const kidOfHost = async (host: PlaygroundHost): Promise<string> =>
  kidOf(createPrivateKey(await readFile(host.path('sa.key'))));

type Claims = Readonly<Record<string, unknown>>;

/** A token with the claims of a real one, signed with the host's present key, its header and claims as a test wants them. */
const forge = async (
  host: PlaygroundHost,
  header: { readonly kid?: string },
  claims: Claims = {},
): Promise<string> =>
  new SignJWT({ ...decodeJwt(await mint(host)), ...claims })
    .setProtectedHeader({ alg: 'RS256', ...header })
    .sign(createPrivateKey(await readFile(host.path('sa.key'))));

beforeAll(async () => {
  playground = await Playground.up({ dir, maxLife: 900 });
  [first, second, third] = playground.hosts;
});
afterAll(async () => Playground.attach(dir).down());

describe('the fault that the playground starts with', () => {
  it('each apiserver accepts the tokens of its own key and refuses those of another', async () => {
    const token = await mint(first);
    expect(await use(first, token)).toBe(200);
    expect(await use(second, token)).toBe(401);
    expect(await use(third, token)).toBe(401);
  });

  it('each apiserver lists its own key only', async () => {
    for (const host of playground.hosts) expect(await jwks(host)).toEqual([await kidOfHost(host)]);
  });

  it('a TokenReview says the same as a request', async () => {
    const token = await mint(first);
    const review = async (host: PlaygroundHost): Promise<unknown> => {
      const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
      const answer = await host.ask('/apis/authentication.k8s.io/v1/tokenreviews', { method: 'POST', body });
      return (JSON.parse(answer.body) as { status: unknown }).status;
    };
    expect(await review(first)).toMatchObject({
      authenticated: true,
      user: { username: 'system:serviceaccount:kube-system:default' },
    });
    expect(await review(second)).toEqual({
      user: {},
      error: '[invalid bearer token, invalid signature, no keys found]',
    });
  });
});

describe('tokens of the stand-in', () => {
  it('say what those of TokenRequest say', async () => {
    const token = await mint(first);
    expect(decodeProtectedHeader(token)).toEqual({ alg: 'RS256', kid: await kidOfHost(first) });
    const claims = decodeJwt(token);
    expect(claims).toMatchObject({
      iss: 'https://kubernetes.default.svc.cluster.local',
      aud: ['https://kubernetes.default.svc.cluster.local'],
      sub: 'system:serviceaccount:kube-system:default',
      'kubernetes.io': { namespace: 'kube-system', serviceaccount: { name: 'default' } },
    });
    expect(claims.exp).toBe((claims.iat ?? 0) + 600);
  });

  it('name the same uid on every apiserver, as if it came from their etcd', async () => {
    const uids = playground.hosts.map(async (host) => {
      const { metadata } = JSON.parse((await host.ask(ACCOUNT)).body) as { metadata: { uid: string } };
      return metadata.uid;
    });
    expect(new Set(await Promise.all(uids)).size).toBe(1);
  });

  it('are tried against the key that they name and no other', async () => {
    const [own, other] = [await kidOfHost(first), await kidOfHost(second)];
    expect(await use(first, await forge(first, { kid: own }))).toBe(200);
    expect(await use(first, await forge(first, { kid: other }))).toBe(401);
  });

  it('are tried against every key when they name none', async () => {
    expect(await use(first, await forge(first, {}))).toBe(200);
    expect(await use(second, await forge(first, {}))).toBe(401);
  });

  it('are refused when they have expired, are for others, or of an account that was made anew', async () => {
    const kid = await kidOfHost(first);
    const refused: readonly Claims[] = [
      { exp: Math.floor(Date.now() / 1000) - 90 },
      { nbf: Math.floor(Date.now() / 1000) + 900 },
      { iss: 'https://issuer.example.net' },
      { aud: ['vault'] },
      { iat: Math.floor(Date.now() / 1000) + 900 },
      { 'kubernetes.io': { namespace: 'kube-system', serviceaccount: { name: 'default', uid: 'old' } } },
    ];
    for (const claims of refused) expect(await use(first, await forge(first, { kid }, claims))).toBe(401);
  });

  it('are accepted without an audience, and while clocks differ by less than a minute', async () => {
    const kid = await kidOfHost(first);
    const soon = Math.floor(Date.now() / 1000) + 30;
    const accepted: readonly Claims[] = [
      { aud: undefined },
      { nbf: soon },
      { iat: soon },
      { exp: soon - 50 },
    ];
    for (const claims of accepted) expect(await use(first, await forge(first, { kid }, claims))).toBe(200);
  });

  it('are not made for accounts that do not exist', async () => {
    const path = '/api/v1/namespaces/kube-system/serviceaccounts/nobody';
    expect((await first.ask(path)).status).toBe(404);
    expect((await first.ask(`${path}/token`, { method: 'POST', body: { spec: {} } })).status).toBe(404);
  });

  it('may not be wished for less than ten minutes', async () => {
    const body = { spec: { expirationSeconds: 599 } };
    expect((await first.ask(`${ACCOUNT}/token`, { method: 'POST', body })).status).toBe(422);
  });
});

describe('the keys of the stand-in', () => {
  it('are those that lay in its files when it started, until it is restarted', async () => {
    const token = await mint(second);
    await appendFile(first.path('sa-verification-keys.pem'), await readFile(second.path('sa.crt'), 'utf8'));
    expect(await use(first, token)).toBe(401);
    expect(await jwks(first)).toEqual([await kidOfHost(first)]);

    await first.apiserver('restart');

    expect(await use(first, token)).toBe(200);
    expect(await jwks(first)).toEqual([await kidOfHost(first), await kidOfHost(second)]);
    expect(await use(second, await mint(first))).toBe(401);
  });

  it.each([
    ['P-256', 'ES256'],
    ['P-384', 'ES384'],
  ])('may be elliptic: %s signs as %s', async (curve, algorithm) => {
    const genpkey = ['genpkey', '-algorithm', 'EC', '-pkeyopt', `ec_paramgen_curve:${curve}`];
    const { stdout: key } = await execa('openssl', genpkey);
    const { stdout: publicKey } = await execa('openssl', ['pkey', '-pubout'], { input: key });
    await writeFile(third.path('sa.key'), key);
    await writeFile(third.path('sa-verification-keys.pem'), publicKey);
    await third.apiserver('restart');
    const token = await mint(third);
    expect(decodeProtectedHeader(token)).toEqual({ alg: algorithm, kid: kidOf(publicKey) });
    expect(await use(third, token)).toBe(200);
  });

  it('make it fail at its start when a file holds none', async () => {
    const bundle = third.path('sa-verification-keys.pem');
    await copyFile(bundle, third.path('kept.pem'));
    await writeFile(bundle, 'nothing\n');
    await expect(third.apiserver('restart')).rejects.toThrow('the apiserver ended');
    expect(await readFile(third.path('apiserver.log'), 'utf8')).toContain(
      'sa-verification-keys.pem: data does not contain any valid RSA or ECDSA public keys',
    );
    await copyFile(third.path('kept.pem'), bundle);
    await rm(third.path('kept.pem'));
    await third.apiserver('start');
  });
});

describe('what the stand-in asks of its clients', () => {
  it('anybody may ask for its health and version, and for nothing else', async () => {
    for (const path of ['/readyz', '/readyz?verbose', '/healthz', '/livez', '/version'])
      expect((await first.ask(path, { as: 'anonymous' })).status).toBe(200);
    for (const path of ['/openid/v1/jwks', '/api/v1/namespaces', ACCOUNT])
      expect((await first.ask(path, { as: 'anonymous' })).status).toBe(403);
  });

  it('a certificate of another CA is no credential, also where none is needed', async () => {
    expect((await first.ask('/version', { as: { certificate: 'etcd-client' } })).status).toBe(401);
  });

  it('a service account may read the key list but make no tokens', async () => {
    const as = { token: await mint(first) };
    expect((await first.ask('/openid/v1/jwks', { as })).status).toBe(200);
    expect((await first.ask(`${ACCOUNT}/token`, { as, method: 'POST', body: {} })).status).toBe(403);
  });
});
