import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { z } from 'zod';
import { kidOf } from '../pem/keys.js';
import type { MintedToken } from './api-server.js';

/**
 * /openid/v1/jwks: kid → SubjectPublicKeyInfo PEM. The kid is the one that the apiserver looks tokens up by: that of
 * `kidOf` for keys from files, whatever an external signer chose for its own.
 */
export const keyList = z
  .object({ keys: z.array(z.looseObject({ kid: z.string().optional() })) })
  .transform(({ keys }, context): ReadonlyMap<string, string> => {
    const found = new Map<string, string>();
    for (const [at, jwk] of keys.entries()) {
      try {
        const key = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });
        found.set(jwk.kid ?? kidOf(key), key.export({ format: 'pem', type: 'spki' }) as string);
      } catch {
        context.addIssue({ code: 'custom', path: ['keys', at], message: 'not a public key' });
      }
    }
    return found;
  });

const header = z.object({ kid: z.string(), alg: z.string() });
const claims = z.object({ iss: z.string(), aud: z.union([z.string(), z.array(z.string())]) });

/** A TokenRequest with its token. */
export const tokenRequest = z
  .object({ status: z.object({ token: z.string() }) })
  .transform(({ status: { token } }, context): MintedToken => {
    const part = (at: number): unknown =>
      JSON.parse(Buffer.from(token.split('.')[at] ?? '', 'base64url').toString());
    try {
      const { kid, alg } = header.parse(part(0));
      const { iss, aud } = claims.parse(part(1));
      return { token, kid, algorithm: alg, issuer: iss, audiences: [aud].flat() };
    } catch {
      context.addIssue({ code: 'custom', path: ['status', 'token'], message: 'not a token with a kid' });
      return z.NEVER;
    }
  });

/** A TokenReview with its outcome. */
export const tokenReview = z
  .object({ status: z.object({ authenticated: z.boolean().optional(), error: z.string().optional() }) })
  .transform(({ status: { authenticated, error } }) => ({
    authenticated: authenticated === true,
    ...(error === undefined ? {} : { error }),
  }));

/** GET of any object: its uid. */
export const objectUid = z
  .object({ metadata: z.object({ uid: z.string() }) })
  .transform(({ metadata }) => metadata.uid);

/** /version. */
export const gitVersion = z.object({ gitVersion: z.string() }).transform((version) => version.gitVersion);
