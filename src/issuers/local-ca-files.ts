import { createPrivateKey, type KeyObject } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { ClusterFile } from '../cluster/schema.js';
import { CertrollError, EXIT, messageOf } from '../core/errors.js';
import { readSecretRef } from '../core/secret-ref.js';
import { readCertificates, weakKey, type Certificates } from './verify.js';

export type LocalCaSettings = Extract<ClusterFile['issuer'], { type: 'local-ca' }>;

export interface LoadedCa {
  /** The signing CA first, then what it hangs on. */
  readonly certificates: Certificates;
  readonly key: KeyObject;
  /** From when to when all of them are valid. */
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** Reads the files of a local CA. Throws `issuer.ca-files` or `issuer.key-permissions` (exit 2). */
export const loadLocalCa = async (settings: LocalCaSettings, baseDir: string): Promise<LoadedCa> => {
  const [certificates, key] = await Promise.all([
    readCaCertificates(settings.cert, baseDir),
    readCaKey(settings, baseDir),
  ]);
  const [ca] = certificates;
  if (!ca.isCa || ca.keyUsages?.keyCertSign === false)
    throw badFiles(`${settings.cert}: ${ca.subject} is not a CA`);
  const weak = weakKey(ca.publicKey);
  if (weak !== undefined) throw badFiles(`${settings.cert}: ${ca.subject}: ${weak}`);
  if (!ca.node.checkPrivateKey(key)) throw badFiles(`${settings.key} is not the key of ${settings.cert}`);
  return {
    certificates,
    key,
    notBefore: new Date(Math.max(...certificates.map((one) => one.notBefore.getTime()))),
    notAfter: new Date(Math.min(...certificates.map((one) => one.notAfter.getTime()))),
  };
};

const readCaCertificates = async (path: string, baseDir: string): Promise<LoadedCa['certificates']> => {
  const pem = await readFile(resolve(baseDir, path), 'utf8').catch((thrown: unknown) => {
    throw badFiles(messageOf(thrown));
  });
  return readCertificates(pem, path).catch((thrown: unknown) => {
    throw badFiles(messageOf(thrown));
  });
};

const readCaKey = async ({ key: path, passphrase }: LocalCaSettings, baseDir: string): Promise<KeyObject> => {
  const secret = passphrase && (await readSecretRef(passphrase, baseDir));
  const pem = await readPrivateFile(resolve(baseDir, path));
  try {
    return secret
      ? secret.reveal((bytes) => createPrivateKey({ key: pem, passphrase: bytes }))
      : createPrivateKey(pem);
  } catch (thrown) {
    throw badFiles(`${path}: ${whyUnreadable(thrown, secret !== undefined)}`);
  } finally {
    pem.fill(0);
    secret?.wipe();
  }
};

/** The mode is asked of the file that was opened, so that nobody can put another one in between. */
const readPrivateFile = async (path: string): Promise<Buffer> => {
  const handle = await open(path, 'r').catch((thrown: unknown) => {
    throw badFiles(messageOf(thrown));
  });
  try {
    const { mode } = await handle.stat();
    if ((mode & 0o077) !== 0) {
      throw new CertrollError(
        `the CA's key ${path} may be read by others than its owner (mode ${(mode & 0o777).toString(8)})`,
        { code: 'issuer.key-permissions', exit: EXIT.usage, hint: `chmod 600 ${path}` },
      );
    }
    return await handle.readFile();
  } finally {
    await handle.close();
  }
};

/** OpenSSL's own words depend on its version; its codes less so. */
const whyUnreadable = (thrown: unknown, withPassphrase: boolean): string => {
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
  if (code === 'ERR_MISSING_PASSPHRASE' || /interrupted or cancelled/i.test(messageOf(thrown)))
    return 'the key is encrypted; name its passphrase (issuer.passphrase)';
  return withPassphrase
    ? 'the passphrase is wrong, or this is no private key'
    : 'this is no private key that can be read';
};

const badFiles = (what: string): CertrollError =>
  new CertrollError(`the local CA cannot be used: ${what}`, {
    code: 'issuer.ca-files',
    exit: EXIT.usage,
    hint: 'See issuer.cert, issuer.key and issuer.passphrase in the cluster file.',
  });
