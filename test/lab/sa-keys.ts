import { createPublicKey } from 'node:crypto';
import { chown, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { signRequest } from './cfssl.js';
import { keyFile, place, type HostFile } from './files.js';
import { OPENSSL_CONFIG, PKI_FOLDER } from './pki.js';
import { PKI, SA_FILES, type HostSpec } from './settings.js';
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

const MANIFEST = '/etc/kubernetes/.lab-files';

const filesBelow = async (root: string, folder: string): Promise<string[]> => {
  const entries = await readdir(join(root, folder), { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length));
};

/** Notes which files belong to a fresh control plane, so that what a test leaves can be told from them. */
export const noteFiles = async (root: string): Promise<void> => {
  const files = await filesBelow(root, PKI);
  await writeFile(join(root, MANIFEST), files.join('\n'));
  await chown(join(root, MANIFEST), 0, 0);
};

/** Removes what a rotation left beside the keys: staged files, backups. */
export const removeStrayFiles = async (root: string): Promise<void> => {
  const own = new Set((await readFile(join(root, MANIFEST), 'utf8')).split('\n'));
  for (const path of await filesBelow(root, PKI)) {
    if (!own.has(path)) await rm(join(root, path));
  }
};
