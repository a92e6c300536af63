import type { CertificateView } from '../pem/x509.js';
import { memo } from '../core/memo.js';

/** `subject` was signed by `issuer`, whose name it carries. */
const isSignedBy = (subject: CertificateView, issuer: CertificateView): boolean =>
  subject.issuerDer.equals(issuer.subjectDer) && verified(subject, issuer);

/** Signatures are costly and asked for again and again: remembered by both certificates. */
const known = new WeakMap<CertificateView, WeakMap<CertificateView, boolean>>();
const verified = (subject: CertificateView, issuer: CertificateView): boolean => {
  const by = known.get(subject) ?? new WeakMap<CertificateView, boolean>();
  known.set(subject, by);
  let result = by.get(issuer);
  if (result === undefined) {
    result = subject.node.verify(issuer.publicKey);
    by.set(issuer, result);
  }
  return result;
};

const isValidAt = ({ notBefore, notAfter }: CertificateView, at: Date): boolean =>
  notBefore <= at && at <= notAfter;

/**
 * Whether Go's crypto/x509 would find a way from a leaf to one of the roots: through certificates of the chain that are
 * authorities, each valid at that time; a leaf that is a root itself is taken. `at` undefined: dates do not count.
 */
export const isTrusted = (
  [leaf, ...intermediates]: readonly CertificateView[],
  roots: readonly CertificateView[],
  at?: Date,
): boolean => {
  if (!leaf) return false;
  const isGood = (each: CertificateView): boolean => at === undefined || isValidAt(each, at);
  const reach = (from: CertificateView, left: readonly CertificateView[]): boolean => {
    if (roots.some((root) => root.der.equals(from.der))) return true;
    if (roots.some((root) => isGood(root) && isSignedBy(from, root))) return true;
    return left.some(
      (each) =>
        each.isCa &&
        isGood(each) &&
        isSignedBy(from, each) &&
        reach(
          each,
          left.filter((other) => other !== each),
        ),
    );
  };
  return isGood(leaf) && reach(leaf, intermediates);
};

/** A name as a set of its parts, whatever their order and the way they are written. */
const partsOf = memo(2000, (name: string): string =>
  name
    .split(/(?<!\\)[,\n]\s*/)
    .map((part) => part.trim().replace(/\s*=\s*/, '='))
    .filter((part) => part !== '')
    .sort()
    .join('\n'),
);

/** Whether two texts are the same distinguished name; only for names of everyday attributes. */
export const isSameName = (one: string, other: string): boolean => partsOf(one) === partsOf(other);
