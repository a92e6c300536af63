import { readFile } from 'node:fs/promises';
import { rootCertificates } from 'node:tls';

/** Where Debian and Red Hat keep the CAs that their administrators trust, a site's own among them. */
const BUNDLES = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt'];

/** The CAs that this system trusts, PEM. Node by itself knows only those that it was built with. */
export const systemRoots = async (): Promise<string> => {
  const own = await Promise.all(BUNDLES.map(async (path) => readFile(path, 'utf8').catch(() => '')));
  return own.find((text) => text !== '') ?? rootCertificates.join('\n');
};
