import { createPublicKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { signRequest } from './cfssl.js';
import { keyFile, place, type HostFile } from './files.js';
import { OPENSSL_CONFIG, PKI_FOLDER } from './pki.js';
import { SA_FILES, type HostSpec } from './settings.js';
import { run } from './shell.js';

/** A control plane's signing key with the certificate that the PKI made for it. */
export interface SigningKey {
  readonly key: string;
  readonly certificate: string;
  /** Public half, SubjectPublicKeyInfo. */
  readonly publicKey: string;
}

export const publicKeyOf = (certificate: string): string =>
  createPublicKey(certificate).export({ type: 'spki', format: 'pem' }).toString();

/** A new RSA key for that host, certified by the lab's PKI. */
export const createSigningKey = async (host: HostSpec): Promise<SigningKey> => {
  const file = join(PKI_FOLDER, `${host.name}-sa.key`);
  const request = await run([
    ...['openssl', 'req', '-new', '-newkey', 'rsa:2048', '-noenc', '-keyout', file],
    ...['-config', OPENSSL_CONFIG, '-subj', `/CN=${host.fqdn}`],
  ]);
  const certificate = await signRequest(`${request}\n`);
  return { key: await readFile(file, 'utf8'), certificate, publicKey: publicKeyOf(certificate) };
};

const saFiles = (own: SigningKey, bundle: string): HostFile[] => [
  keyFile(SA_FILES.key, own.key, 'kube'),
  { path: SA_FILES.certificate, content: own.certificate, group: 'kube' },
  { path: SA_FILES.bundle, content: bundle, group: 'kube' },
];

/** Installs a key with the fault: the host trusts its own key and no other. */
export const installOwnKey = async (root: string, own: SigningKey): Promise<void> => {
  for (const file of saFiles(own, own.publicKey)) await place(root, file);
};

/** Replaces the bundle of verification keys. */
export const installBundle = async (root: string, publicKeys: readonly string[]): Promise<void> => {
  await place(root, { path: SA_FILES.bundle, content: publicKeys.join(''), group: 'kube' });
};

export const readCertificate = (root: string): Promise<string> =>
  readFile(join(root, SA_FILES.certificate), 'utf8');
