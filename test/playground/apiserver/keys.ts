import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  compactVerify,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  SignJWT,
  type JWK,
  type JWTPayload,
} from 'jose';
import type { ApiserverFlags } from '../../../src/kube/flags.js';
import { algorithmOf } from '../../../src/kube/probe-token.js';
import { canonicalPem, kidOf, readVerificationKeys } from '../../../src/pem/keys.js';

/** A key of a file, with its id. A key that lies in two files is there twice, in /openid/v1/jwks too. */
interface KnownKey {
  readonly kid: string;
  readonly key: KeyObject;
}

/**
 * The keys of one process, read once, when it starts: what lies in the files later is nothing to it. That is the rule
 * the whole rotation turns on.
 */
export class Keys {
  readonly issuers: readonly string[];
  readonly signingKid: string;
  readonly #signingKey: KeyObject;
  readonly #algorithm: string;
  readonly #verification: readonly KnownKey[];

  constructor({ signingKeyFile, keyFiles, issuers }: ApiserverFlags) {
    if (signingKeyFile === undefined) throw new Error('--service-account-signing-key-file is required');
    if (issuers.length === 0) throw new Error('--service-account-issuer is required');
    this.issuers = issuers;
    this.#signingKey = createPrivateKey(readFileSync(signingKeyFile));
    const publicKey = createPublicKey(this.#signingKey);
    this.signingKid = kidOf(publicKey);
    this.#algorithm = algorithmOf(canonicalPem(publicKey));
    this.#verification = keyFiles.flatMap((file) => {
      const { keys } = readVerificationKeys(readFileSync(file, 'utf8'));
      // kube-apiserver does not start with such a file.
      if (keys.length === 0)
        throw new Error(`${file}: data does not contain any valid RSA or ECDSA public keys`);
      return keys.map(({ kid, publicKeyPem }) => ({ kid, key: createPublicKey(publicKeyPem) }));
    });
  }

  get kids(): readonly string[] {
    return [...new Set(this.#verification.map(({ kid }) => kid))];
  }

  /** The key list of /openid/v1/jwks. */
  async jwks(): Promise<{ readonly keys: readonly JWK[] }> {
    const keys = this.#verification.map(async ({ kid, key }): Promise<JWK> => ({
      ...(await exportJWK(key)),
      use: 'sig',
      kid,
      alg: algorithmOf(canonicalPem(key)),
    }));
    return { keys: await Promise.all(keys) };
  }

  async sign(claims: JWTPayload): Promise<string> {
    return new SignJWT(claims)
      .setProtectedHeader({ alg: this.#algorithm, kid: this.signingKid })
      .sign(this.#signingKey);
  }

  /**
   * The claims of a token that one of the keys has signed, of one of the issuers. Throws when there is none, with
   * kube-apiserver's words for it.
   */
  async verify(token: string): Promise<JWTPayload> {
    if (!this.issuers.includes(decodeJwt(token).iss ?? '')) throw new Error('it is of another issuer');
    const { kid } = decodeProtectedHeader(token);
    // A token that names its key is tried against that key and no other (kubernetes pkg/serviceaccount/jwt.go).
    const candidates = this.#verification.filter((known) => kid === undefined || known.kid === kid);
    for (const { key } of candidates) {
      const payload = await compactVerify(token, key).then(
        (verified) => verified.payload,
        () => undefined,
      );
      if (payload) return JSON.parse(Buffer.from(payload).toString()) as JWTPayload;
    }
    throw new Error(`invalid signature${candidates.length === 0 ? ', no keys found' : ''}`);
  }
}
