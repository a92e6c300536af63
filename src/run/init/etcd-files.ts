import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { clusterFileSchema } from '../../cluster/schema.js';
import { CertrollError } from '../../core/errors.js';
import { namesOf, peerCertificate } from '../../core/peer-certificate.js';
import { memberUrls } from '../../etcd/connect.js';
import type { SeenEtcdFiles } from '../../init/seen.js';
import { readPem } from '../../pem/read.js';

/** Folders beside the cluster file in which its files usually lie. */
const FOLDERS = ['', 'etcd', 'pki', 'pki/etcd', 'certs', 'ssl'];
const MOST_FILES = 200;
const MOST_BYTES = 256 * 1024;
/** Pairs that are tried. */
const MOST_TRIES = 8;
const TIMEOUT_MS = 5000;
/** Extended key usage clientAuth (RFC 5280). */
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';

interface CertificateFile {
  /** Relative to the folder of the cluster file, `./` before it. */
  readonly path: string;
  readonly certificates: readonly X509Certificate[];
}

const readCertificateFile = async (base: string, path: string): Promise<CertificateFile | undefined> => {
  const { size, isFile } = await stat(join(base, path)).then(
    (found) => ({ size: found.size, isFile: found.isFile() }),
    () => ({ size: 0, isFile: false }),
  );
  if (!isFile || size > MOST_BYTES) return undefined;
  try {
    const { blocks } = readPem(await readFile(join(base, path), 'utf8'));
    const certificates = blocks
      .filter(({ type }) => type === 'CERTIFICATE')
      .map(({ bytes }) => new X509Certificate(bytes));
    return certificates.length === 0 ? undefined : { path: `./${path}`, certificates };
  } catch {
    return undefined;
  }
};

const certificateFiles = async (base: string): Promise<readonly CertificateFile[]> => {
  const paths: string[] = [];
  for (const folder of FOLDERS) {
    const names = await readdir(join(base, folder)).catch(() => []);
    paths.push(...names.filter((name) => /\.(crt|pem|cert)$/.test(name)).map((name) => join(folder, name)));
  }
  const files = await Promise.all(
    paths.slice(0, MOST_FILES).map(async (path) => readCertificateFile(base, path)),
  );
  return files.filter((file) => file !== undefined);
};

/** What the key of a certificate file is called: `x.key`, or `x-key.pem` as cfssl has it. */
const keyNames = (path: string): readonly string[] => {
  const stem = path.replace(/\.(crt|pem|cert)$/, '');
  return [`${stem}.key`, `${stem}-key.pem`, `${stem}.key.pem`, `${stem}-key.key`];
};

/** The key beside a certificate, where it is its key and for its owner alone, as a cluster file wants it. */
const keyBeside = async (
  base: string,
  { path, certificates }: CertificateFile,
): Promise<string | undefined> => {
  const [leaf] = certificates;
  for (const key of keyNames(path)) {
    try {
      const { mode } = await stat(join(base, key));
      if ((mode & 0o077) !== 0) continue;
      const bytes = await readFile(join(base, key));
      const isOwn = leaf?.checkPrivateKey(createPrivateKey(bytes)) === true;
      bytes.fill(0);
      if (isOwn) return key;
    } catch {
      // Not there, not readable, encrypted: not one that could be used.
    }
  }
  return undefined;
};

const mayBeClient = ({ certificates: [leaf] }: CertificateFile): boolean => {
  if (!leaf || leaf.ca) return false;
  // In Node's types a list; where the certificate does not say, Node gives none.
  const usages = leaf.keyUsage as readonly string[] | undefined;
  return usages === undefined || usages.includes(CLIENT_AUTH);
};

const hasIssued = (authority: X509Certificate, leaf: X509Certificate): boolean =>
  leaf.checkIssued(authority) && leaf.verify(authority.publicKey);

/** What etcd shows at the first endpoint that answers. */
const shownBy = async (endpoints: readonly string[]) => {
  for (const endpoint of endpoints) {
    const found = await peerCertificate(new URL(endpoint), { timeoutMs: TIMEOUT_MS }).catch(() => undefined);
    if (found?.raw) return { leaf: new X509Certificate(found.raw), names: namesOf(found.subjectaltname) };
  }
  return undefined;
};

export interface FoundEtcdFiles {
  readonly files: SeenEtcdFiles | undefined;
  /** Why there are none. */
  readonly note?: string;
}

/**
 * Client files of etcd beside the cluster file: a CA that etcd's own certificate is of, and a pair that etcd lets in, each
 * tried on the real thing by a read that changes nothing. No file is copied, and none is read but those.
 */
export const findEtcdFiles = async (
  base: string,
  endpoints: readonly string[],
  progress: (text: string) => void,
): Promise<FoundEtcdFiles> => {
  const secure = endpoints.filter((url) => url.startsWith('https:'));
  if (secure.length === 0) return { files: undefined };
  const shown = await shownBy(secure);
  if (!shown) return { files: undefined, note: `no etcd answers this machine at ${secure.join(', ')}` };
  const files = await certificateFiles(base);
  const authority = files.find(({ certificates }) =>
    certificates.some((each) => each.ca && hasIssued(each, shown.leaf)),
  );
  if (!authority)
    return {
      files: undefined,
      note: `no CA beside the cluster file is that of etcd's certificate, which ${shown.leaf.issuer.split('\n').join(', ')} issued`,
    };
  const isOfAuthority = ({ certificates: [leaf] }: CertificateFile): boolean =>
    leaf !== undefined && authority.certificates.some((each) => hasIssued(each, leaf));
  const clients = files.filter(mayBeClient);
  const ordered = [...clients.filter(isOfAuthority), ...clients.filter((each) => !isOfAuthority(each))];
  let last = 'there is no client certificate with its key (mode 600) beside the cluster file';
  let tries = 0;
  for (const client of ordered) {
    const key = await keyBeside(base, client);
    if (key === undefined) continue;
    tries += 1;
    if (tries > MOST_TRIES) break;
    progress(`trying ${client.path} on etcd`);
    const names = [undefined, ...shown.names.filter((name) => isIP(name) === 0 && name !== 'localhost')];
    for (const serverName of names.slice(0, 3)) {
      const settings = clusterFileSchema.shape.etcd.parse({
        ...{ endpoints: secure, ca: authority.path, cert: client.path, key },
        ...(serverName !== undefined && { serverName }),
      });
      try {
        const urls = await memberUrls(settings, base);
        const where = `a read with ${client.path}`;
        return {
          files: { ca: authority.path, cert: client.path, key, serverName, memberUrls: urls, where },
        };
      } catch (thrown) {
        if (!(thrown instanceof CertrollError)) throw thrown;
        last = thrown.message;
        if (!/altnames/.test(thrown.message)) break;
      }
    }
  }
  return { files: undefined, note: `etcd lets in no pair beside the cluster file: ${last}` };
};
