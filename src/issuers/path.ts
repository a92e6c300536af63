import type { CertificateView } from '../pem/x509.js';

/** Hashes that Go's verifiers still take in a signature. */
const HASHES: readonly (string | undefined)[] = ['sha-256', 'sha-384', 'sha-512', undefined];

/**
 * The path from a leaf to one of the anchors, leaf first, anchor last; or why there is none. What came with the leaf must
 * be in order, each the issuer of the one before it (a root at the end is allowed): servers and clients that read such a
 * file do not sort it.
 */
export const buildPath = (
  leaf: CertificateView,
  others: readonly CertificateView[],
  anchors: readonly CertificateView[],
): readonly CertificateView[] | string => {
  const path = [leaf];
  let last = leaf;
  for (const next of others) {
    const why = whyNotIssuedBy(last, next);
    if (why !== undefined) return `what comes with it is not in order: ${why}`;
    path.push(next);
    last = next;
  }
  const at = path.findIndex((link) => anchors.some((anchor) => anchor.der.equals(link.der)));
  if (at > 0) return upFrom(path.slice(0, at + 1), anchors);
  const reasons: string[] = [];
  for (const anchor of anchors) {
    const why = whyNotIssuedBy(last, anchor);
    if (why === undefined) return upFrom([...path, anchor], anchors);
    reasons.push(why);
  }
  return reasons[0] ?? 'the issuer has no CA certificate';
};

/** Goes on within the anchors, where the issuing CA is an intermediate and its own issuer is among them. */
const upFrom = (
  path: readonly CertificateView[],
  anchors: readonly CertificateView[],
): readonly CertificateView[] => {
  const last = path.at(-1);
  const above = anchors.find(
    (anchor) => last && !path.includes(anchor) && whyNotIssuedBy(last, anchor) === undefined,
  );
  return above ? upFrom([...path, above], anchors) : path;
};

/** Why a certificate was not issued by that CA; undefined when it was. Dates are looked at elsewhere. */
const whyNotIssuedBy = (child: CertificateView, ca: CertificateView): string | undefined => {
  const of = `${child.subject || 'a certificate without a name'}: `;
  if (!child.issuerDer.equals(ca.subjectDer)) return `${of}its issuer's name is not that of ${ca.subject}`;
  if (!ca.isCa || ca.keyUsages?.keyCertSign === false) return `${of}${ca.subject} may not sign certificates`;
  if (!child.node.checkIssued(ca.node))
    return `${of}its authority key identifier is not that of ${ca.subject}`;
  if (!HASHES.includes(child.signatureHash)) return `${of}it is signed with ${child.signatureHash ?? ''}`;
  return child.node.verify(ca.publicKey) ? undefined : `${of}the signature is not that of ${ca.subject}`;
};
