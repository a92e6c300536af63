import { execa } from 'execa';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** What a certificate is to say. */
export interface Leaf {
  /** Path of the CA's files without their ending. */
  readonly ca: string;
  readonly subject: string;
  readonly sans?: readonly string[];
  readonly usage?: 'serverAuth' | 'clientAuth';
  /** An RSA key instead of the quicker elliptic curve: what service accounts are signed with by default. */
  readonly rsa?: boolean;
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];
const RSA_KEY = ['-newkey', 'rsa:2048'];

/** The playground's certificates, made with openssl: PATH.crt and PATH.key (0600). */
export class Pki {
  readonly #config: string;

  private constructor(config: string) {
    this.#config = config;
  }

  static async create(folder: string): Promise<Pki> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // The machine's own configuration adds extensions that would stand there twice.
    const config = join(folder, 'openssl.cnf');
    await writeFile(config, '[req]\ndistinguished_name = dn\n[dn]\n');
    return new Pki(config);
  }

  async ca(path: string, name: string): Promise<void> {
    await this.#make(path, `/CN=${name}`, KEY, [
      'basicConstraints=critical,CA:TRUE',
      'keyUsage=critical,keyCertSign,cRLSign',
      'subjectKeyIdentifier=hash',
    ]);
  }

  async leaf(path: string, { ca, subject, sans = [], usage, rsa = false }: Leaf): Promise<void> {
    const extensions = [
      'basicConstraints=critical,CA:FALSE',
      'keyUsage=critical,digitalSignature,keyEncipherment',
      'subjectKeyIdentifier=hash',
      'authorityKeyIdentifier=keyid',
      ...(usage === undefined ? [] : [`extendedKeyUsage=${usage}`]),
      ...(sans.length > 0 ? [`subjectAltName=${sans.join(',')}`] : []),
    ];
    await this.#make(path, subject, rsa ? RSA_KEY : KEY, extensions, [
      '-CA',
      `${ca}.crt`,
      '-CAkey',
      `${ca}.key`,
    ]);
  }

  async #make(
    path: string,
    subject: string,
    key: readonly string[],
    extensions: readonly string[],
    issuer: readonly string[] = [],
  ): Promise<void> {
    await mkdir(dirname(path), { recursive: true });
    await execa('openssl', [
      ...[
        'req',
        '-x509',
        '-config',
        this.#config,
        '-days',
        issuer.length === 0 ? '3650' : '365',
        '-subj',
        subject,
        ...key,
        '-noenc',
      ],
      ...['-keyout', `${path}.key`, '-out', `${path}.crt`, ...issuer],
      ...extensions.flatMap((extension) => ['-addext', extension]),
    ]);
  }
}

/** Writes the public key of a certificate as PEM: a bundle of one. */
export const writePublicKey = async (certificate: string, path: string): Promise<void> => {
  const { stdout } = await execa('openssl', ['x509', '-in', certificate, '-noout', '-pubkey']);
  await writeFile(path, `${stdout}\n`);
};
