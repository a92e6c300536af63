import { X509Certificate } from 'node:crypto';
import { messageOf } from '../core/errors.js';
import type { FileFact } from '../hosts/host.js';
import type { StartFiles } from '../kube/flags.js';
import { readAs, type Consumer } from '../pem/consumers.js';
import { kidOf } from '../pem/keys.js';
import { describeProblem, readPem } from '../pem/read.js';

/** Why a process could not start with a file that its flags name. */
export interface StartProblem {
  readonly path: string;
  readonly text: string;
}

export type FileFacts = ReadonlyMap<string, FileFact>;

/** The files to be read for `startProblems`: private keys only by their public halves. */
export const filesToRead = (
  files: StartFiles,
): { readonly privateKeys: readonly string[]; readonly publicFiles: readonly string[] } => {
  const privateKeys = new Set([...files.signingKeys, ...files.pairs.map(({ key }) => key)]);
  const publicFiles = new Set([
    ...files.pairs.map(({ certificate }) => certificate),
    ...files.bundles,
    ...(files.etcdBundle === undefined ? [] : [files.etcdBundle]),
    ...files.verificationKeys,
  ]);
  return {
    privateKeys: [...privateKeys],
    publicFiles: [...publicFiles].filter((path) => !privateKeys.has(path)),
  };
};

const missing = (path: string, facts: FileFacts): readonly StartProblem[] =>
  facts.get(path)?.exists === true ? [] : [{ path, text: 'does not exist' }];

/** A file as the program that reads it would: what it would not load is why it would not start, or would lose something. */
const unread = (path: string, consumer: Consumer, facts: FileFacts): readonly StartProblem[] => {
  const fact = facts.get(path);
  if (fact?.exists !== true) return missing(path, facts);
  // A private key that is listed as a verification file: only its public half is read here.
  if (fact.content === undefined)
    return fact.publicKeyPem === undefined ? [{ path, text: 'is no private key' }] : [];
  const { loads, count, problems } = readAs(consumer, fact.content);
  const texts = problems.map((problem) => ({ path, text: describeProblem(problem) }));
  if (texts.length > 0) return texts;
  return loads && count > 0 ? [] : [{ path, text: 'holds nothing that would be loaded' }];
};

const badKey = (path: string, facts: FileFacts): readonly StartProblem[] => {
  const fact = facts.get(path);
  if (fact?.exists !== true) return missing(path, facts);
  return fact.publicKeyPem === undefined ? [{ path, text: 'openssl cannot read a private key from it' }] : [];
};

const mismatch = (
  { certificate, key }: StartFiles['pairs'][number],
  facts: FileFacts,
): readonly StartProblem[] => {
  const content = facts.get(certificate);
  const privateKey = facts.get(key);
  const broken = [...missing(certificate, facts), ...badKey(key, facts)];
  if (broken.length > 0 || content?.exists !== true || privateKey?.exists !== true) return broken;
  const [first] = readPem(content.content ?? '').blocks.filter(({ type }) => type === 'CERTIFICATE');
  if (!first) return [{ path: certificate, text: 'holds no certificate' }];
  try {
    const leaf = new X509Certificate(first.bytes);
    if (kidOf(leaf.publicKey) === kidOf(privateKey.publicKeyPem ?? '')) return [];
    return [{ path: certificate, text: `is not the certificate of the key in ${key}` }];
  } catch (thrown) {
    return [{ path: certificate, text: `line ${first.line}: ${messageOf(thrown)}` }];
  }
};

/** Everything in a process's files that would keep it from starting, or that it would lose at a start. Pure. */
export const startProblems = (files: StartFiles, facts: FileFacts): readonly StartProblem[] => [
  ...files.pairs.flatMap((pair) => mismatch(pair, facts)),
  ...files.bundles.flatMap((path) => unread(path, 'kube-ca', facts)),
  ...(files.etcdBundle === undefined ? [] : unread(files.etcdBundle, 'etcd-ca', facts)),
  ...files.signingKeys.flatMap((path) => badKey(path, facts)),
  ...files.verificationKeys.flatMap((path) => unread(path, 'verification-keys', facts)),
];
