import type { KeyObject } from 'node:crypto';
import { CertrollError, messageOf } from '../core/errors.js';
import { formatDuration } from '../core/duration.js';
import { readPem } from '../pem/read.js';
import type { CertificateView } from '../pem/x509.js';
import { buildPath } from './path.js';

export interface VerifyOptions {
  /** What the issuer gave: a leaf and whatever came with it. */
  readonly pem: string;
  /** The key that was to be certified. */
  readonly publicKey: KeyObject;
  /** The CA's own certificates, trusted by where they came from. */
  readonly anchors: readonly CertificateView[];
  readonly now: Date;
  readonly renewWindowMs: number;
  /** For errors. */
  readonly issuer: string;
}

export interface VerifiedLeaf {
  readonly leaf: CertificateView;
  /** Leaf, then intermediates, without a root: what goes into a file. */
  readonly pem: string;
}

/** At least one. */
export type Certificates = readonly [CertificateView, ...CertificateView[]];

/** Reads the certificates of a PEM text, in order. Throws `issuer.answer` when there is none, or something else. */
export const readCertificates = async (pem: string, issuer: string): Promise<Certificates> => {
  const { viewCertificate } = await import('../pem/x509.js');
  const { blocks, problems } = readPem(pem);
  const fail = (why: string): CertrollError =>
    new CertrollError(`what ${issuer} gave is not a certificate: ${why}`, { code: 'issuer.answer' });
  const [problem] = problems;
  if (problem) throw fail(`line ${problem.line}: ${problem.text}`);
  const views = blocks.map(({ type, bytes, line }) => {
    if (type !== 'CERTIFICATE') throw fail(`there is a ${type.slice(0, 40)} in it`);
    try {
      return viewCertificate(bytes);
    } catch (thrown) {
      throw fail(`line ${line}: ${messageOf(thrown)}`);
    }
  });
  const [leaf, ...others] = views;
  if (!leaf) throw fail('there is no PEM block in it');
  return [leaf, ...others];
};

/** Checks a certificate as those will who must verify with it. Throws `issuer.wrong-key|usage|dates|chain|answer`. */
export const verifyLeaf = async (options: VerifyOptions): Promise<VerifiedLeaf> => {
  const { publicKey, anchors, now, renewWindowMs, issuer } = options;
  const [leaf, ...others] = await readCertificates(options.pem, issuer);
  const fail = failure(issuer);
  if (!sameKey(leaf.publicKey, publicKey)) throw fail('issuer.wrong-key', 'it is for another key');
  const usage = wrongUsage(leaf);
  if (usage !== undefined) throw fail('issuer.usage', usage);
  const dates = wrongDates(leaf, now, renewWindowMs);
  if (dates !== undefined) throw fail('issuer.dates', dates);
  const path = buildPath(leaf, others, anchors);
  if (typeof path === 'string') throw fail('issuer.chain', path);
  // At its end as well as now: a leaf must not outlive what it hangs on.
  for (const at of [now, new Date(leaf.notAfter.getTime() - 3_600_000)]) {
    const bad = path.find((link) => at < link.notBefore || at > link.notAfter);
    if (bad)
      throw fail(
        'issuer.dates',
        `${bad.subject} in its chain is valid from ${bad.notBefore.toISOString()} to ${bad.notAfter.toISOString()}, so not at ${at.toISOString()}`,
      );
  }
  const written = path.filter((link) => !link.subjectDer.equals(link.issuerDer));
  return { leaf, pem: written.map((link) => link.pem).join('') };
};

const sameKey = (a: KeyObject, b: KeyObject): boolean =>
  a.export({ format: 'der', type: 'spki' }).equals(b.export({ format: 'der', type: 'spki' }));

const wrongUsage = (leaf: CertificateView): string | undefined => {
  if (leaf.isCa) return 'it is a CA itself';
  if (leaf.keyUsages?.digitalSignature === false) return 'its key usage does not allow digital signatures';
  if (leaf.unknownCritical.length > 0)
    return `it has a critical extension that no verifier knows (${leaf.unknownCritical.join(', ')})`;
  return weakKey(leaf.publicKey);
};

/** Why a key cannot sign for a control plane: RSA from 2048 bits, or ECDSA on P-256 or P-384. */
export const weakKey = (key: KeyObject): string | undefined => {
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === 'rsa')
    return modulusLength < 2048 ? `its RSA key has ${modulusLength} bits` : undefined;
  const curve = namedCurve === 'prime256v1' || namedCurve === 'secp384r1';
  return key.asymmetricKeyType === 'ec' && curve
    ? undefined
    : `its key is ${namedCurve ?? key.asymmetricKeyType ?? 'of an unknown kind'}, neither RSA nor ECDSA on P-256 or P-384`;
};

const wrongDates = (leaf: CertificateView, now: Date, renewWindowMs: number): string | undefined => {
  const ahead = leaf.notBefore.getTime() - now.getTime();
  if (ahead > 0)
    return `it is valid from ${leaf.notBefore.toISOString()} only, ${formatDuration(Math.max(ahead, 1000))} from now: the clocks of the issuer and of this machine differ (clock skew)`;
  const left = leaf.notAfter.getTime() - now.getTime();
  if (left <= 0) return `it expired at ${leaf.notAfter.toISOString()}`;
  if (left <= renewWindowMs)
    return `it ends at ${leaf.notAfter.toISOString()}, so it would be due for renewal at once (thresholds.renewBefore ${formatDuration(renewWindowMs)})`;
  return undefined;
};

type VerifyCode = 'issuer.wrong-key' | 'issuer.usage' | 'issuer.dates' | 'issuer.chain';

const HINTS: Readonly<Record<VerifyCode, string>> = {
  'issuer.wrong-key': 'The issuer answered with a certificate of something else; see its log.',
  'issuer.usage': "See the profile's usages at the issuer: digital signature, and not a CA.",
  'issuer.dates': "See the profile's expiry and the clock of the issuer, and how long its CA still lives.",
  'issuer.chain': "See that the issuer's label and its own CA certificate belong together.",
};

const failure =
  (issuer: string) =>
  (code: VerifyCode, why: string): CertrollError =>
    new CertrollError(`the certificate from ${issuer} was refused: ${why}`, { code, hint: HINTS[code] });
