import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestCert } from '../support/pki.js';
import { LAB_DIR } from './settings.js';
import { run } from './shell.js';

/** A certificate and its private key, as PEM. */
export interface Pair {
  readonly cert: string;
  readonly key: string;
}

export interface LeafRequest {
  /** Folder of the authority's files; the systemd lab's unless given. */
  readonly folder?: string;
  readonly ca: string;
  readonly name: string;
  readonly commonName: string;
  readonly organization?: string;
  readonly sans?: readonly string[];
  readonly usage: readonly ('serverAuth' | 'clientAuth')[];
}

const configIn = (folder: string): string => join(folder, 'openssl.cnf');

/** Private: root only. */
export const PKI_FOLDER = join(LAB_DIR, 'pki');
/** An empty configuration: the machine's own one adds extensions that would stand there twice. */
export const OPENSSL_CONFIG = configIn(PKI_FOLDER);

const certificate = (name: string, folder = PKI_FOLDER): string => join(folder, `${name}.crt`);
const privateKey = (name: string, folder = PKI_FOLDER): string => join(folder, `${name}.key`);

/** The lab's own authorities (all but the issuing by cfssl), made with openssl and kept in the lab's folder. */
export const preparePki = async (folder = PKI_FOLDER): Promise<void> => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(configIn(folder), '[req]\ndistinguished_name = dn\n[dn]\n');
};

const make = async (
  name: string,
  subject: string,
  days: number,
  extensions: readonly string[],
  ca?: string,
  folder = PKI_FOLDER,
): Promise<void> => {
  await run([
    ...['openssl', 'req', '-x509', '-config', configIn(folder), '-days', String(days), '-subj', subject],
    ...[
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-noenc',
      '-keyout',
      privateKey(name, folder),
      '-out',
      certificate(name, folder),
    ],
    ...(ca === undefined ? [] : ['-CA', certificate(ca, folder), '-CAkey', privateKey(ca, folder)]),
    ...extensions.flatMap((extension) => ['-addext', extension]),
  ]);
};

/** An authority of the lab, for whoever issues by its files. */
export const authority = async (name: string): Promise<TestCert> => {
  const { cert: pem, key } = await readPair(name);
  return { certFile: certificate(name), keyFile: privateKey(name), pem, key };
};

export const readPair = async (name: string, folder = PKI_FOLDER): Promise<Pair> => ({
  cert: await readFile(certificate(name, folder), 'utf8'),
  key: await readFile(privateKey(name, folder), 'utf8'),
});

export const createCa = async (name: string, commonName: string): Promise<Pair> => {
  await make(name, `/CN=${commonName}`, 3650, [
    'basicConstraints=critical,CA:TRUE',
    'keyUsage=critical,keyCertSign,cRLSign,digitalSignature',
    'subjectKeyIdentifier=hash',
  ]);
  return readPair(name);
};

const sanOf = (name: string): string => (/^[\d.]+$/.test(name) ? `IP:${name}` : `DNS:${name}`);

export const createLeaf = async (leaf: LeafRequest): Promise<Pair> => {
  const subject = `${leaf.organization === undefined ? '' : `/O=${leaf.organization}`}/CN=${leaf.commonName}`;
  const extensions = [
    'basicConstraints=critical,CA:FALSE',
    'keyUsage=critical,digitalSignature',
    `extendedKeyUsage=${leaf.usage.join(',')}`,
    'subjectKeyIdentifier=hash',
    'authorityKeyIdentifier=keyid',
    ...(leaf.sans ? [`subjectAltName=${leaf.sans.map(sanOf).join(',')}`] : []),
  ];
  // Longer than what an apiserver makes for itself at its start (three years): so that the two can be told apart.
  await make(leaf.name, subject, 1461, extensions, leaf.ca, leaf.folder);
  return readPair(leaf.name, leaf.folder);
};
