import { createPublicKey, verify, type KeyObject } from 'node:crypto';
import type { Secret } from '../core/secret.js';
import { algorithmOf } from './probe-token.js';

interface Verifier {
  readonly key: KeyObject;
  readonly digest: string;
}

/** Parsed keys, by PEM: a cluster has thousands of tokens and some tens of keys. */
const verifiers = new Map<string, Verifier | undefined>();

/** Undefined for a key that kube-controller-manager cannot sign with: it signed no token. */
const verifierOf = (pem: string): Verifier | undefined => {
  if (verifiers.has(pem)) return verifiers.get(pem);
  let verifier: Verifier | undefined;
  try {
    verifier = { key: createPublicKey(pem), digest: `sha${algorithmOf(pem).slice(2)}` };
  } catch {
    // Of another kind, such as the Ed25519 key of some certificate.
  }
  verifiers.set(pem, verifier);
  return verifier;
};

const COMPACT = /^([\w-]+\.[\w-]+)\.([\w-]+)$/;

/**
 * The key that signed a token, found by trying: what the header says of kid and algorithm is a claim of whoever wrote the token,
 * and plays no part. RS256, ES256, ES384 and ES512, by the kind of key. Undefined when no key of these verifies it.
 */
export const kidThatVerifies = (
  token: Secret,
  publicKeys: ReadonlyMap<string, string>,
): string | undefined => {
  const [, signed, encoded = ''] = COMPACT.exec(token.reveal((bytes) => bytes.toString())) ?? [];
  const signature = Buffer.from(encoded, 'base64url');
  // Node decodes what no base64url encoder writes; an apiserver does not.
  if (signed === undefined || signature.toString('base64url') !== encoded) return undefined;
  for (const [kid, pem] of publicKeys) {
    const verifier = verifierOf(pem);
    if (!verifier) continue;
    const key = { key: verifier.key, dsaEncoding: 'ieee-p1363' as const };
    if (verify(verifier.digest, Buffer.from(signed), key, signature)) return kid;
  }
  return undefined;
};
