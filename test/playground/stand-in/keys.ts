import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { importJWK, exportJWK, jwtVerify, SignJWT, type JWK } from 'jose';
import { kidOf, readVerificationKeys } from '../../../src/pem/keys.js';
import { algorithmOf } from '../../../src/kube/probe-token.js';

/** Who a token is of. */
export interface Account {
  readonly namespace: string;
  readonly name: string;
}

/**
 * The keys of one process, read once, when it starts: what lies in the files later is nothing to it. That is the rule the
 * whole rotation turns on.
 */
export class Keys {
  readonly issuer: string;
  readonly #signing: KeyObject;
  readonly #kid: string;
  readonly #algorithm: string;
  /** kid → key. */
  readonly #verification = new Map<string, KeyObject>();

  constructor(signingFile: string, keyFiles: readonly string[], issuer: string) {
    this.issuer = issuer;
    this.#signing = createPrivateKey(readFileSync(signingFile));
    const publicKey = createPublicKey(this.#signing);
    this.#kid = kidOf(publicKey);
    this.#algorithm = algorithmOf(publicKey.export({ format: 'pem', type: 'spki' }) as string);
    for (const file of keyFiles) {
      const { keys } = readVerificationKeys(readFileSync(file, 'utf8'));
      // As kube-apiserver: a key file without one key in it is an error.
      if (keys.length === 0) throw new Error(`${file} holds no verification key`);
      for (const key of keys) this.#verification.set(key.kid, createPublicKey(key.publicKeyPem));
    }
  }

  /** The key list of /openid/v1/jwks. */
  async jwks(): Promise<{ readonly keys: readonly JWK[] }> {
    const keys = [...this.#verification].map(async ([kid, key]) => ({
      ...(await exportJWK(key)),
      kid,
      use: 'sig',
      alg: algorithmOf(key.export({ format: 'pem', type: 'spki' }) as string),
    }));
    return { keys: await Promise.all(keys) };
  }

  /** A token as TokenRequest gives it. */
  async mint({ namespace, name }: Account, uid: string, ttlSeconds: number): Promise<string> {
    return new SignJWT({ 'kubernetes.io': { namespace, serviceaccount: { name, uid } } })
      .setProtectedHeader({ alg: this.#algorithm, kid: this.#kid })
      .setIssuer(this.issuer)
      .setAudience(this.issuer)
      .setSubject(`system:serviceaccount:${namespace}:${name}`)
      .setIssuedAt()
      .setNotBefore('0s')
      .setExpirationTime(`${ttlSeconds}s`)
      .sign(this.#signing);
  }

  /** The user of a token. A token with a kid is tried against the key of that kid and no other. Throws when it is not accepted. */
  async verify(token: string): Promise<string> {
    const { payload } = await jwtVerify(
      token,
      async ({ kid }) => {
        const key = kid === undefined ? undefined : this.#verification.get(kid);
        if (!key) throw new Error('invalid bearer token: no key with its kid');
        return importJWK(
          await exportJWK(key),
          algorithmOf(key.export({ format: 'pem', type: 'spki' }) as string),
        );
      },
      { issuer: this.issuer, audience: this.issuer },
    );
    return payload.sub ?? '';
  }
}
