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

const SEQUENCE = 0x30;
const INTEGER = 0x02;
const CURVES = {
  prime256v1: { algorithm: 'ES256', digest: 'sha256', size: 32 },
  secp384r1: { algorithm: 'ES384', digest: 'sha384', size: 48 },
  secp521r1: { algorithm: 'ES512', digest: 'sha512', size: 66 },
} as const;

/**
 * How a key signs (kubernetes pkg/serviceaccount/jwt.go; RFC 7518, 3.1); `size` is that of each half of an ECDSA
 * signature.
 */
const schemeOf = (publicKeyPem: string) => {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = createPublicKey(publicKeyPem);
  if (type === 'rsa') return { algorithm: 'RS256', digest: 'sha256', size: undefined } as const;
  const curve = type === 'ec' ? CURVES[details?.namedCurve as keyof typeof CURVES] : undefined;
  if (!curve) throw new Error(`kube-apiserver signs with no ${details?.namedCurve ?? type ?? 'such'} key`);
  return curve;
};

/** The JWS algorithm that kube-apiserver uses for a key. Throws for a key that it cannot use. */
export const algorithmOf = (publicKeyPem: string): 'RS256' | 'ES256' | 'ES384' | 'ES512' =>
  schemeOf(publicKeyPem).algorithm;

/** The digest that the algorithm signs. Throws for P-521, which no host is asked to sign with. */
export const digestOf = (publicKeyPem: string): 'sha256' | 'sha384' => {
  const { algorithm, digest } = schemeOf(publicKeyPem);
  if (digest === 'sha512') throw new Error(`probe tokens cannot be signed with ${algorithm}`);
  return digest;
};

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

/**
 * The fixed-size halves that JWS wants (RFC 7518, 3.4), of DER `SEQUENCE { INTEGER r, INTEGER s }`, which is what openssl
 * writes. Throws for anything else: a token with a damaged signature would be refused, and its key blamed.
 */
const rawSignature = (der: Buffer, size: number): Buffer => {
  const broken = (): Error => new Error('the signature is not a DER sequence of two integers');
  let at = 0;
  const enter = (tag: number): number => {
    if (der[at] !== tag) throw broken();
    const isLong = der[at + 1] === 0x81;
    const length = der[at + (isLong ? 2 : 1)] ?? der.length;
    at += isLong ? 3 : 2;
    if (at + length > der.length) throw broken();
    return length;
  };
  const integer = (): Buffer => {
    const length = enter(INTEGER);
    const value = der.subarray(at, (at += length));
    const digits = value.subarray(value.findIndex((byte) => byte !== 0));
    if (digits.length > size) throw broken();
    return Buffer.concat([Buffer.alloc(size - digits.length), digits]);
  };
  const end = enter(SEQUENCE) + at;
  const halves = [integer(), integer()];
  if (at !== end || end !== der.length) throw broken();
  return Buffer.concat(halves);
};

/** The finished token; `signature` is what `openssl dgst -sign` gave on the host. */
export const assembleToken = (input: string, signature: Buffer, publicKeyPem: string): string => {
  const { size } = schemeOf(publicKeyPem);
  return `${input}.${(size === undefined ? signature : rawSignature(signature, size)).toString('base64url')}`;
};
