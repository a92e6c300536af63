import { createPublicKey } from 'node:crypto';
import { memo } from '../core/memo.js';
import type { LookedAt } from '../hosts/inspect.js';
import { readAs } from '../pem/consumers.js';
import { kidOf, readVerificationKeys } from '../pem/keys.js';
import { describeProblem, readPem } from '../pem/read.js';
import type { CertificateView } from '../pem/x509.js';
import type { Use } from './uses.js';

/** What a file gives to its reader. */
export interface Content {
  /** False: its reader would refuse the file, or get nothing from it. Undefined: nobody could look. */
  readonly loads: boolean | undefined;
  readonly certificates: readonly CertificateView[];
  /** Of keys, private and public: their kids. Of a certificate: none, see `kidOfCertificate`. */
  readonly kids: readonly string[];
  /** What its reader would lose or refuse, in words with block and line. */
  readonly problems: readonly string[];
}

const NOTHING: Content = { loads: undefined, certificates: [], kids: [], problems: [] };

/** Files of many hosts hold the same; what comes here is public. */
const readKubeAuthorities = memo(500, (text) => readAs('kube-ca', text));
const readEtcdAuthorities = memo(500, (text) => readAs('etcd-ca', text));

export const kidOfCertificate = memo(5000, (pem: string): string => kidOf(createPublicKey(pem)));

const readAuthorities = (text: string, parser: 'kube-ca' | 'etcd-ca'): Content => {
  const reading = parser === 'etcd-ca' ? readEtcdAuthorities(text) : readKubeAuthorities(text);
  const { loads, certificates, problems } = reading;
  return { loads, certificates, kids: [], problems: problems.map(describeProblem) };
};

/** A pair may lie in one file: the key beside the certificate is no fault (tls.X509KeyPair passes over it). */
const readCertificate = (text: string): Content => {
  const content = readAuthorities(text, 'kube-ca');
  const problems = content.problems.filter((each) => !/PRIVATE KEY is passed over|EC PARAMETERS/.test(each));
  return { ...content, problems };
};

const readPrivateKey = (publicKeyPem: string | undefined, isSigning: boolean): Content => {
  if (publicKeyPem === undefined)
    return {
      ...NOTHING,
      loads: false,
      problems: ['openssl reads no private key from it: it is damaged, encrypted, or something else'],
    };
  const kind = createPublicKey(publicKeyPem).asymmetricKeyType;
  const problems =
    isSigning && kind !== 'rsa' && kind !== 'ec'
      ? [`a key of type ${kind ?? 'unknown'} cannot sign tokens: RS and ES only`]
      : [];
  return { ...NOTHING, loads: true, kids: [kidOf(publicKeyPem)], problems };
};

/**
 * Verification keys of a redacted text: of a private key in it there is only the public half. An EC key in PKCS#8 gives
 * the apiserver no verification key.
 */
const readVerification = (text: string, publicKeyPem: string | undefined): Content => {
  const { keys, problems } = readVerificationKeys(text);
  const secret = readPem(text).blocks.find(({ type }) => type.endsWith('PRIVATE KEY'));
  const half =
    publicKeyPem !== undefined &&
    secret !== undefined &&
    (secret.type !== 'PRIVATE KEY' || createPublicKey(publicKeyPem).asymmetricKeyType === 'rsa')
      ? [kidOf(publicKeyPem)]
      : [];
  const lost = problems.filter(({ block }) => half.length === 0 || block !== secret?.number);
  const kids = [...new Set([...keys.map(({ kid }) => kid), ...half])];
  return {
    loads: kids.length > 0,
    certificates: [],
    kids,
    problems:
      kids.length === 0 && lost.length === 0 ? ['holds no PEM block at all'] : lost.map(describeProblem),
  };
};

const read = (
  kind: Use['kind'],
  parser: Use['parser'],
  text: string,
  publicKeyPem: string | undefined,
): Content => {
  switch (kind) {
    case 'certificate':
    case 'issuer':
      return readCertificate(text);
    case 'authorities':
      return readAuthorities(text, parser ?? 'kube-ca');
    case 'key':
    case 'signing-key':
      return readPrivateKey(publicKeyPem, kind === 'signing-key');
    case 'verification-keys':
      return readVerification(text, publicKeyPem);
    case 'kubeconfig':
    case 'other':
      return { ...NOTHING, loads: true };
  }
};

/** What is in a file, as its reader reads it; the text is redacted (see `REDACT`). Pure. */
export const readFile = (
  use: Pick<Use, 'kind' | 'parser' | 'embedded'> & { readonly text?: string },
  file?: LookedAt,
): Content => {
  if (use.text !== undefined) return read(use.kind, use.parser, use.text, undefined);
  if (use.embedded) return read(use.kind, use.parser, use.embedded.text, use.embedded.publicKeyPem);
  return file?.kind === 'file' ? read(use.kind, use.parser, file.text, file.publicKeyPem) : NOTHING;
};
