import { createPublicKey } from 'node:crypto';
import type { ServiceAccountRef } from './api-server.js';

export interface ProbeToken {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly serviceAccount: ServiceAccountRef;
  /** The service account's own uid: a token that names another one is refused. */
  readonly uid: string;
  readonly kid: string;
  readonly publicKeyPem: string;
  readonly now: Date;
  readonly ttlSeconds: number;
}

const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Bytes of each half of an ECDSA signature, by curve; undefined for RSA. */
const ecdsaSize = (publicKeyPem: string): 32 | 48 | undefined => {
  const key = createPublicKey(publicKeyPem);
  if (key.asymmetricKeyType !== 'ec') return undefined;
  return key.asymmetricKeyDetails?.namedCurve === 'secp384r1' ? 48 : 32;
};

/** The JWS algorithm that kube-apiserver uses for a key (kubernetes pkg/serviceaccount/jwt.go). */
export const algorithmOf = (publicKeyPem: string): 'RS256' | 'ES256' | 'ES384' => {
  const size = ecdsaSize(publicKeyPem);
  if (size === undefined) return 'RS256';
  return size === 48 ? 'ES384' : 'ES256';
};

/** The digest that the algorithm signs (RFC 7518, 3.1). */
export const digestOf = (publicKeyPem: string): 'sha256' | 'sha384' =>
  algorithmOf(publicKeyPem) === 'ES384' ? 'sha384' : 'sha256';

/** What is to be signed: header and claims as TokenRequest writes them. */
export const probeTokenInput = (probe: ProbeToken): string => {
  const seconds = Math.floor(probe.now.getTime() / 1000);
  const { namespace, name } = probe.serviceAccount;
  const claims = {
    aud: probe.audiences,
    exp: seconds + probe.ttlSeconds,
    iat: seconds,
    iss: probe.issuer,
    'kubernetes.io': { namespace, serviceaccount: { name, uid: probe.uid } },
    nbf: seconds,
    sub: `system:serviceaccount:${namespace}:${name}`,
  };
  return `${base64url({ alg: algorithmOf(probe.publicKeyPem), kid: probe.kid })}.${base64url(claims)}`;
};

/** Splits DER `SEQUENCE { INTEGER r, INTEGER s }`, as openssl writes it, into the fixed-size halves that JWS wants (RFC 7518, 3.4). */
const rawSignature = (der: Buffer, size: number): Buffer => {
  let at = (der[1] ?? 0) < 0x80 ? 2 : 3;
  const integer = (): Buffer => {
    const length = der[at + 1] ?? 0;
    const value = der.subarray(at + 2, at + 2 + length);
    at += 2 + length;
    const trimmed = value.subarray(Math.max(0, value.length - size));
    return Buffer.concat([Buffer.alloc(size - trimmed.length), trimmed]);
  };
  return Buffer.concat([integer(), integer()]);
};

/** The finished token; `signature` is what `openssl dgst -sign` gave on the host. */
export const assembleToken = (input: string, signature: Buffer, publicKeyPem: string): string => {
  const size = ecdsaSize(publicKeyPem);
  return `${input}.${(size === undefined ? signature : rawSignature(signature, size)).toString('base64url')}`;
};
