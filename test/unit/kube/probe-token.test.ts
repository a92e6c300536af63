import { createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import fc from 'fast-check';
import { jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { algorithmOf, assembleToken, probeTokenInput } from '../../../src/kube/probe-token.js';
import { kidOf } from '../../../src/pem/keys.js';

const pairs = {
  RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ES384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
} as const;

/** A token signed as openssl on a host does: SHA-256 over the input, DER for ECDSA. ES384 wants SHA-384. */
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
  const signature = sign(algorithm === 'ES384' ? 'sha384' : 'sha256', Buffer.from(input), privateKey);
  return { token: assembleToken(input, signature, publicKeyPem), publicKeyPem };
};

describe('a probe token', () => {
  it.each(['RS256', 'ES256', 'ES384'] as const)(
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
        fc.constantFrom('ES256' as const, 'ES384' as const),
        fc.nat(1000),
        async (algorithm, seconds) => {
          const { token, publicKeyPem } = tokenOf(algorithm, new Date(Date.now() - seconds));
          await jwtVerify(token, createPublicKey(publicKeyPem));
        },
      ),
      { numRuns: 300 },
    );
  });
});
