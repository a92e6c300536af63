import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { errors, exportJWK, jwtVerify, SignJWT, type JWK, type JWTPayload } from 'jose';
import type { ApiserverFlags } from '../../../src/kube/flags.js';
import { algorithmOf } from '../../../src/kube/probe-token.js';
import { canonicalPem, kidOf, readVerificationKeys } from '../../../src/pem/keys.js';

const ALGORITHMS = ['RS256', 'ES256', 'ES384', 'ES512'];

/**
 * The keys of one process, read once, when it starts: what lies in the files later is nothing to it. That is the rule
 * the whole rotation turns on.
 */
export class Keys {
  readonly issuers: readonly string[];
  readonly signingKid: string;
  readonly #signingKey: KeyObject;
  readonly #algorithm: string;
  /** kid → key. */
  readonly #verification: ReadonlyMap<string, KeyObject>;

  constructor({ signingKeyFile, keyFiles, issuers }: ApiserverFlags) {
    if (signingKeyFile === undefined) throw new Error('--service-account-signing-key-file is required');
    if (issuers.length === 0) throw new Error('--service-account-issuer is required');
    this.issuers = issuers;
    this.#signingKey = createPrivateKey(readFileSync(signingKeyFile));
    const publicKey = createPublicKey(this.#signingKey);
    this.signingKid = kidOf(publicKey);
    this.#algorithm = algorithmOf(canonicalPem(publicKey));
    this.#verification = new Map(
      keyFiles.flatMap((file) => {
        const { keys } = readVerificationKeys(readFileSync(file, 'utf8'));
        // kube-apiserver does not start with such a file.
        if (keys.length === 0)
          throw new Error(`${file}: data does not contain any valid RSA or ECDSA public keys`);
        return keys.map(({ kid, publicKeyPem }) => [kid, createPublicKey(publicKeyPem)] as const);
      }),
    );
  }

  get kids(): readonly string[] {
    return [...this.#verification.keys()];
  }

  /** The key list of /openid/v1/jwks. */
  async jwks(): Promise<{ readonly keys: readonly JWK[] }> {
    const keys = [...this.#verification].map(async ([kid, key]) => ({
      use: 'sig',
      kid,
      alg: algorithmOf(canonicalPem(key)),
      ...(await exportJWK(key)),
    }));
    return { keys: await Promise.all(keys) };
  }

  async sign(claims: JWTPayload): Promise<string> {
    return new SignJWT(claims)
      .setProtectedHeader({ alg: this.#algorithm, kid: this.signingKid })
      .sign(this.#signingKey);
  }

  /** The claims of a token that one of these keys has signed for one of the issuers. Throws when there is none. */
  async verify(token: string): Promise<JWTPayload> {
    const [head = ''] = token.split('.');
    const { kid } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { kid?: string };
    // A token that names its key is tried against that key and no other (kubernetes pkg/serviceaccount/jwt.go).
    const candidates = kid === undefined ? this.kids : this.kids.filter((known) => known === kid);
    for (const candidate of candidates) {
      const key = this.#verification.get(candidate);
      if (!key) continue;
      try {
        const { payload } = await jwtVerify(token, key, {
          algorithms: ALGORITHMS,
          issuer: [...this.issuers],
          audience: [...this.issuers],
          // What kube-apiserver's library allows.
          clockTolerance: 60,
        });
        return payload;
      } catch (error) {
        const isOtherKey =
          error instanceof errors.JWSSignatureVerificationFailed || error instanceof TypeError;
        if (!isOtherKey) throw error;
      }
    }
    throw new Error(`no key verifies it (kid ${kid ?? 'not given'})`);
  }
}
