import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readVerificationKeys } from './keys.js';
import { readPem, type PemBlock, type PemProblem } from './read.js';
import { viewCertificate, type CertificateView } from './x509.js';

/**
 * Who reads a file, by the parser it uses:
 *
 * - `signing-key`: kube-apiserver and kube-controller-manager, a private key (client-go keyutil.ParsePrivateKeyPEM)
 * - `verification-keys`: a `--service-account-key-file` (keyutil.ParsePublicKeysPEM)
 * - `kube-ca`: every bundle of authorities of a Kubernetes component (cert.ParseCertsPEM)
 * - `etcd-ca`: etcd, and its client in kube-apiserver (tlsutil.NewCertPool)
 *
 * What each does with which bytes was measured by running those parsers.
 */
export type Consumer = 'signing-key' | 'verification-keys' | 'kube-ca' | 'etcd-ca';

/** What a consumer gets from a file. */
export interface PemReading {
  /** False: it would refuse the file, or get nothing at all from it. */
  readonly loads: boolean;
  /** Keys or certificates that it loads. */
  readonly count: number;
  /** Of the two that read authorities. */
  readonly certificates: readonly CertificateView[];
  /** Every block that it loses without a word, and everything that makes it refuse the file. */
  readonly problems: readonly PemProblem[];
}

const problem = ({ line, number }: PemBlock, text: string): PemProblem => ({ line, block: number, text });

const attempt = <T>(parse: () => T): T | undefined => {
  try {
    return parse();
  } catch {
    return undefined;
  }
};

const EMPTY: PemProblem = { line: 1, block: 0, text: 'holds no PEM block at all' };

/** Labels that keyutil tries as a private key; it passes over all others. */
const PRIVATE_LABELS: Readonly<Record<string, 'sec1' | 'pkcs1' | 'pkcs8'>> = {
  'EC PRIVATE KEY': 'sec1',
  'RSA PRIVATE KEY': 'pkcs1',
  'PRIVATE KEY': 'pkcs8',
};

const privateKeyOf = (block: PemBlock): KeyObject | undefined => {
  const type = PRIVATE_LABELS[block.type];
  if (type === undefined || 'DEK-Info' in block.headers) return undefined;
  return attempt(() => createPrivateKey({ key: block.bytes, format: 'der', type }));
};

const whyNoKey = (block: PemBlock): string => {
  if (block.type === 'ENCRYPTED PRIVATE KEY' || 'DEK-Info' in block.headers)
    return `this ${block.type} is encrypted, which the consumer cannot open; store it without a passphrase, readable by the service only`;
  if (block.type === 'OPENSSH PRIVATE KEY')
    return "this key is in OpenSSH's own form; convert it with ssh-keygen -p -m PEM";
  return `this ${block.type} is no private key that the consumer reads`;
};

/** The first block that is a private key wins; nothing behind it is looked at. */
const readSigningKey = (blocks: readonly PemBlock[]): PemReading => {
  const passed: PemProblem[] = [];
  for (const block of blocks) {
    const key = privateKeyOf(block);
    if (!key) {
      if (block.type !== 'EC PARAMETERS') passed.push(problem(block, whyNoKey(block)));
      continue;
    }
    const kind = key.asymmetricKeyType;
    const problems =
      kind === 'rsa' || kind === 'ec'
        ? passed
        : [
            ...passed,
            problem(block, `a key of type ${kind ?? 'unknown'} cannot sign tokens: RS and ES only`),
          ];
    return { loads: true, count: 1, certificates: [], problems };
  }
  return { loads: false, count: 0, certificates: [], problems: passed.length > 0 ? passed : [EMPTY] };
};

/** Passes over everything that is not a plain CERTIFICATE; one that does not parse makes it refuse the file. */
const readKubeCa = (blocks: readonly PemBlock[]): PemReading => {
  const certificates: CertificateView[] = [];
  const problems: PemProblem[] = [];
  let isRefused = false;
  for (const block of blocks) {
    if (block.type !== 'CERTIFICATE' || Object.keys(block.headers).length > 0) {
      const why = block.type === 'CERTIFICATE' ? 'a CERTIFICATE with headers' : `this ${block.type}`;
      problems.push(problem(block, `${why} is passed over; a trust bundle holds plain certificates only`));
      continue;
    }
    const certificate = attempt(() => viewCertificate(block.bytes));
    if (certificate) certificates.push(certificate);
    else {
      isRefused = true;
      problems.push(
        problem(block, 'this certificate is damaged, and the consumer refuses the whole file for it'),
      );
    }
  }
  const loads = !isRefused && certificates.length > 0;
  return { loads, count: loads ? certificates.length : 0, certificates: loads ? certificates : [], problems };
};

/** Takes every block for a certificate, whatever its label; an empty file is no error, and loads nothing. */
const readEtcdCa = (blocks: readonly PemBlock[]): PemReading => {
  const certificates: CertificateView[] = [];
  const problems: PemProblem[] = [];
  for (const block of blocks) {
    const certificate =
      block.type === 'TRUSTED CERTIFICATE' ? undefined : attempt(() => viewCertificate(block.bytes));
    if (certificate) certificates.push(certificate);
    else
      problems.push(
        problem(
          block,
          `etcd takes every block for a certificate and refuses the whole file for this ${block.type}`,
        ),
      );
  }
  const loads = problems.length === 0 && certificates.length > 0;
  return { loads, count: loads ? certificates.length : 0, certificates: loads ? certificates : [], problems };
};

const readVerification = (text: string): PemReading => {
  const { keys, problems } = readVerificationKeys(text);
  return { loads: keys.length > 0, count: keys.length, certificates: [], problems };
};

const isCa = (consumer: Consumer): boolean => consumer === 'kube-ca' || consumer === 'etcd-ca';

/** Reads a file as that consumer does. Never throws: what is wrong is in the problems, with block and line. */
export const readAs = (consumer: Consumer, text: string): PemReading => {
  if (consumer === 'verification-keys') {
    const reading = readVerification(text);
    return reading.loads || reading.problems.length > 0 ? reading : { ...reading, problems: [EMPTY] };
  }
  const { blocks, problems: lost } = readPem(text);
  const reading =
    consumer === 'signing-key'
      ? readSigningKey(blocks)
      : consumer === 'kube-ca'
        ? readKubeCa(blocks)
        : readEtcdCa(blocks);
  const problems = [...lost, ...reading.problems].sort((a, b) => a.line - b.line);
  const isEmpty = isCa(consumer) && blocks.length === 0 && lost.length === 0;
  return { ...reading, problems: isEmpty ? [EMPTY] : problems };
};
