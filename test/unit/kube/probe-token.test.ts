import { createPublicKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import fc from 'fast-check';
import { jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { algorithmOf, assembleToken, digestOf, probeTokenInput } from '../../../src/kube/probe-token.js';
import { kidOf } from '../../../src/pem/keys.js';

const pairs = {
  RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ES384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  ES512: generateKeyPairSync('ec', { namedCurve: 'P-521' }),
} as const;

const DIGESTS = { RS256: 'sha256', ES256: 'sha256', ES384: 'sha384', ES512: 'sha512' } as const;

/** A token signed as openssl on a host does: DER for ECDSA. */
const tokenOf = (algorithm: keyof typeof pairs, now = new Date()) => {
  const { publicKey, privateKey } = pairs[algorithm];
  const publicKeyPem = publicKey.export({ format: 'pem', type: 'spki' }) as string;
  const input = probeTokenInput({
    issuer: 'https://issuer',
    audiences: ['api'],
    serviceAccount: { namespace: 'kube-system', name: 'default' },
    uid: 'u-1',
    kid: kidOf(publicKey),
    publicKeyPem,
    now,
    ttlSeconds: 600,
  });
  const signature = sign(DIGESTS[algorithm], Buffer.from(input), privateKey);
  return { token: assembleToken(input, signature, publicKeyPem), publicKeyPem };
};

describe('a probe token', () => {
  it.each(['RS256', 'ES256', 'ES384', 'ES512'] as const)(
    'signed with %s is one that jose accepts, with the claims of TokenRequest',
    async (algorithm) => {
      const { token, publicKeyPem } = tokenOf(algorithm);
      expect(algorithmOf(publicKeyPem)).toBe(algorithm);
      const { payload, protectedHeader } = await jwtVerify(token, createPublicKey(publicKeyPem), {
        issuer: 'https://issuer',
        audience: 'api',
      });
      expect(protectedHeader).toEqual({ alg: algorithm, kid: kidOf(publicKeyPem) });
      expect(payload.sub).toBe('system:serviceaccount:kube-system:default');
      expect(payload['kubernetes.io']).toEqual({
        namespace: 'kube-system',
        serviceaccount: { name: 'default', uid: 'u-1' },
      });
      expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(600);
    },
  );

  it('is put together right for every length that r and s may have', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('ES256' as const, 'ES384' as const, 'ES512' as const),
        fc.nat(1000),
        async (algorithm, seconds) => {
          const { token, publicKeyPem } = tokenOf(algorithm, new Date(Date.now() - seconds));
          await jwtVerify(token, createPublicKey(publicKeyPem));
        },
      ),
      { numRuns: 300 },
    );
  });

  it.each([
    ['empty', ''],
    ['an RSA signature', 'ab'.repeat(64)],
    ['cut', '3006020101020101'.slice(0, -2)],
    ['longer than it says', '300602010102010100'],
    ['of one number', '3003020101'],
    ['of numbers that are too large', `3082004602${(34).toString(16)}01${'00'.repeat(33)}020101`],
  ])('is not put together of a damaged signature: %s', (_what, hex) => {
    const pem = pairs.ES256.publicKey.export({ format: 'pem', type: 'spki' }) as string;
    expect(() => assembleToken('a.b', Buffer.from(hex, 'hex'), pem)).toThrow('not a DER sequence');
  });

  it('is not made for keys that kube-apiserver or its host cannot sign with', () => {
    const pem = (key: KeyObject): string => key.export({ format: 'pem', type: 'spki' }) as string;
    expect(() => algorithmOf(pem(generateKeyPairSync('ed25519').publicKey))).toThrow('ed25519');
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'secp256k1' });
    expect(() => algorithmOf(pem(publicKey))).toThrow('secp256k1');
    expect(() => digestOf(pem(pairs.ES512.publicKey))).toThrow('ES512');
  });
});
