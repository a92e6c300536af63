import { createHash, createPrivateKey, createPublicKey, X509Certificate, type KeyObject } from 'node:crypto';
import { memo } from '../core/memo.js';
import { readPem, type PemBlock, type PemProblem } from './read.js';

/** A public key that verifies service-account tokens. */
export interface VerificationKey {
  readonly kid: string;
  /** SubjectPublicKeyInfo, PEM, canonical. */
  readonly publicKeyPem: string;
  /** When the block was a certificate: its dates. */
  readonly certificate?: { readonly notBefore: Date; readonly notAfter: Date; readonly serial: string };
}

export interface VerificationKeys {
  readonly keys: readonly VerificationKey[];
  readonly problems: readonly PemProblem[];
}

/**
 * The key id that kube-apiserver puts into a token: base64url(SHA-256(PKIX DER)), unpadded.
 * Source: kubernetes pkg/serviceaccount/jwt.go, keyIDFromPublicKey; measured on 1.20 and 1.34.
 */
export const kidOf = (key: KeyObject | string): string =>
  isPublicPem(key) ? kidOfPem(key) : computeKid(key);

/** The canonical PEM form of a public key (PKIX). */
export const canonicalPem = (key: KeyObject | string): string =>
  isPublicPem(key) ? canonicalOfPem(key) : computeCanonical(key);

/** Keys of one cluster, a few times over: the same ones are asked for again and again while a plan is drawn up. */
const REMEMBERED = 500;

const isPublicPem = (key: KeyObject | string): key is string =>
  typeof key === 'string' && key.startsWith('-----BEGIN PUBLIC KEY-----');

const computeKid = (key: KeyObject | string): string =>
  createHash('sha256')
    .update(asPublic(key).export({ format: 'der', type: 'spki' }))
    .digest('base64url');

const computeCanonical = (key: KeyObject | string): string =>
  asPublic(key).export({ format: 'pem', type: 'spki' }) as string;

const kidOfPem = memo(REMEMBERED, computeKid);
const canonicalOfPem = memo(REMEMBERED, computeCanonical);

const asPublic = (key: KeyObject | string): KeyObject =>
  typeof key === 'string' || key.type === 'private' ? createPublicKey(key) : key;

const attempt = <T>(parse: () => T): T | undefined => {
  try {
    return parse();
  } catch {
    return undefined;
  }
};

/** Curves and key types that kube-apiserver can sign and verify with: RSA, and ECDSA on three curves. */
const usable = (key: KeyObject): boolean =>
  key.asymmetricKeyType === 'rsa' ||
  (key.asymmetricKeyType === 'ec' &&
    ['prime256v1', 'secp384r1', 'secp521r1'].includes(key.asymmetricKeyDetails?.namedCurve ?? ''));

/**
 * What a DER key is, by its first elements. Node's own decoder takes one form for another, so it cannot tell what a
 * stricter reader would refuse.
 */
const formOf = (der: Buffer): 'pkcs1-private' | 'pkcs8' | 'sec1' | 'spki' | 'other' => {
  const SEQUENCE = 0x30;
  const INTEGER = 0x02;
  const OCTET_STRING = 0x04;
  const header = (der[1] ?? 0) < 0x80 ? 2 : 2 + ((der[1] ?? 0) & 0x7f);
  if (der[0] !== SEQUENCE) return 'other';
  if (der[header] === SEQUENCE) return 'spki';
  if (der[header] !== INTEGER || der[header + 1] !== 1) return 'other';
  const [version, next] = [der[header + 2], der[header + 3]];
  if (version === 0 && next === INTEGER) return 'pkcs1-private';
  if (version === 0 && next === SEQUENCE) return 'pkcs8';
  return version === 1 && next === OCTET_STRING ? 'sec1' : 'other';
};

const keyOfDer = (der: Buffer): KeyObject | undefined => {
  switch (formOf(der)) {
    case 'spki':
      return createPublicKey({ key: der, format: 'der', type: 'spki' });
    case 'pkcs1-private':
      return createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs1' }));
    case 'sec1':
      return createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'sec1' }));
    case 'pkcs8': {
      const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
      return key.asymmetricKeyType === 'rsa' ? createPublicKey(key) : undefined;
    }
    case 'other':
      return undefined;
  }
};

/**
 * The key that client-go's keyutil.ParsePublicKeysPEM takes from one block; it looks at the bytes, not at the label.
 * A PKCS#8 EC private key and a PKCS#1 RSA public key give nothing there (knowledge measured on the parsers themselves).
 */
const keyOfBlock = (block: PemBlock): { key: KeyObject; certificate?: X509Certificate } | undefined => {
  const der = block.bytes;
  const certificate = attempt(() => new X509Certificate(der));
  if (certificate) {
    const key = attempt(() => certificate.publicKey);
    return key && usable(key) ? { key, certificate } : undefined;
  }
  const key = attempt(() => keyOfDer(der));
  return key && usable(key) ? { key } : undefined;
};

/** What a `--service-account-key-file` with this text gives its apiserver, and what it would silently lose. */
export const readVerificationKeys = (text: string): VerificationKeys =>
  text.includes('PRIVATE KEY') ? parseVerificationKeys(text) : parseRemembered(text);

const parseVerificationKeys = (text: string): VerificationKeys => {
  const content = readPem(text);
  const keys: VerificationKey[] = [];
  const problems: PemProblem[] = [...content.problems];
  for (const block of content.blocks) {
    const found = keyOfBlock(block);
    if (!found) {
      if (block.type !== 'EC PARAMETERS')
        problems.push({
          line: block.line,
          block: block.number,
          text: `this ${block.type} gives the apiserver no verification key`,
        });
      continue;
    }
    const kid = kidOf(found.key);
    const known = keys.findIndex((key) => key.kid === kid);
    const key: VerificationKey = {
      kid,
      publicKeyPem: canonicalPem(found.key),
      ...(found.certificate && {
        certificate: {
          notBefore: new Date(found.certificate.validFrom),
          notAfter: new Date(found.certificate.validTo),
          serial: found.certificate.serialNumber,
        },
      }),
    };
    if (known < 0) keys.push(key);
    else if (key.certificate) keys[known] = key;
  }
  return { keys, problems };
};

const parseRemembered = memo(REMEMBERED, parseVerificationKeys);

/**
 * A bundle of public keys as certroll writes it: every key re-encoded as PKIX, one block each, a comment with the
 * kid before it, sorted by kid so that the same keys give the same bytes on every host.
 */
export const encodeBundle = (publicKeys: readonly string[]): string => {
  const byKid = new Map(publicKeys.map((pem) => [kidOf(pem), canonicalPem(pem)]));
  return [...byKid.entries()]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([kid, pem]) => `# kid ${kid}\n${pem}`)
    .join('');
};
