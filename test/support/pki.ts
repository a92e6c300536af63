import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Runs the real openssl; gives what it prints. */
export const openssl = async (...args: readonly string[]): Promise<string> =>
  (await run('openssl', args)).stdout;

export type TestAlgorithm =
  'rsa-1024' | 'rsa-2048' | 'rsa-3072' | 'rsa-4096' | 'ecdsa-p256' | 'ecdsa-p384' | 'ed25519';

export interface TestCertOptions {
  /** Default: `ecdsa-p256`, the quickest. */
  readonly algorithm?: TestAlgorithm;
  /** An existing key file, instead of a new key. */
  readonly keyFile?: string;
  readonly ca?: boolean;
  /** Default: itself. */
  readonly issuer?: TestCert;
  readonly sans?: readonly string[];
  readonly from?: Date;
  readonly to?: Date;
  /** Upper-case hex. Default: one by chance. */
  readonly serial?: string;
  /** Default: sha256. */
  readonly digest?: 'sha1' | 'sha256' | 'sha384';
  /** Lines of an openssl extension section, instead of those for `ca` and `sans`. */
  readonly extensions?: readonly string[];
}

export interface TestCert {
  readonly certFile: string;
  readonly keyFile: string;
  readonly pem: string;
  readonly key: string;
}

export const DAY = 86_400_000;

/** A PKI in a folder, made by openssl: another author's idea of a certificate than the one under test. */
export class TestPki {
  readonly dir: string;

  private constructor(dir: string) {
    this.dir = dir;
  }

  static async create(): Promise<TestPki> {
    const dir = await mkdtemp(join(tmpdir(), 'certroll-pki-'));
    return new TestPki(dir);
  }

  path(name: string): string {
    return join(this.dir, name);
  }

  read(path: string): Promise<string> {
    return readFile(path, 'utf8');
  }

  /** A file of the folder, for its owner alone. */
  async write(name: string, content: string): Promise<string> {
    const file = this.path(name);
    await writeFile(file, content, { mode: 0o600 });
    return file;
  }

  /** A private key file (0600, PKCS#8). */
  async key(name: string, algorithm: TestAlgorithm = 'ecdsa-p256'): Promise<string> {
    const file = this.path(`${name}.key`);
    await openssl('genpkey', ...GENPKEY[algorithm], '-out', file);
    return file;
  }

  async csr(name: string, keyFile: string, cn = name): Promise<string> {
    const file = this.path(`${name}.csr`);
    await openssl('req', '-new', '-key', keyFile, '-subj', `/CN=${cn}`, '-out', file);
    return readFile(file, 'utf8');
  }

  /** A certificate and its key; `name` is the common name. */
  async certificate(name: string, options: TestCertOptions = {}): Promise<TestCert> {
    const keyFile = options.keyFile ?? (await this.key(name, options.algorithm));
    await this.csr(name, keyFile);
    const certFile = this.path(`${name}.crt`);
    const extensions = options.extensions ?? [
      'subjectKeyIdentifier = hash',
      // A self-signed one has none to point at yet.
      ...(options.issuer ? ['authorityKeyIdentifier = keyid'] : []),
      ...(options.ca
        ? ['basicConstraints = critical, CA:TRUE', 'keyUsage = critical, keyCertSign, cRLSign']
        : [
            'basicConstraints = critical, CA:FALSE',
            'keyUsage = critical, digitalSignature, keyEncipherment',
          ]),
      ...(options.sans ? [`subjectAltName = ${options.sans.join(',')}`] : []),
    ];
    await writeFile(this.path(`${name}.ext`), `${extensions.join('\n')}\n`);
    const config = await this.#config(name, options.serial);
    const { from = new Date(Date.now() - 3_600_000), to = new Date(Date.now() + 365 * DAY) } = options;
    const signer = options.issuer
      ? ['-cert', options.issuer.certFile, '-keyfile', options.issuer.keyFile]
      : ['-selfsign', '-keyfile', keyFile];
    await openssl(
      ...['ca', '-batch', '-notext', '-config', config, ...signer],
      ...['-startdate', asn1Time(from), '-enddate', asn1Time(to), '-extfile', this.path(`${name}.ext`)],
      ...['-md', options.digest ?? 'sha256'],
      ...['-in', this.path(`${name}.csr`), '-out', certFile],
    );
    return {
      certFile,
      keyFile,
      pem: await readFile(certFile, 'utf8'),
      key: await readFile(keyFile, 'utf8'),
    };
  }

  /** Configuration of `openssl ca` for one certificate: it writes its database, and several run at the same time. */
  async #config(name: string, serial?: string): Promise<string> {
    const database = this.path(`${name}.db`);
    await mkdir(database, { recursive: true });
    await writeFile(join(database, 'index'), '');
    const config = join(database, 'cnf');
    if (serial !== undefined) await writeFile(join(database, 'serial'), `${serial}\n`);
    const lines = [
      '[ca]',
      'default_ca = test',
      '[test]',
      `database = ${join(database, 'index')}`,
      `new_certs_dir = ${database}`,
      serial === undefined ? 'rand_serial = yes' : `serial = ${join(database, 'serial')}`,
      'default_md = sha256',
      'policy = any',
      'email_in_dn = no',
      '[any]',
      'commonName = supplied',
    ];
    await writeFile(config, lines.map((line) => `${line}\n`).join(''));
    return config;
  }

  async remove(): Promise<void> {
    await rm(this.dir, { recursive: true, force: true });
  }
}

const GENPKEY: Readonly<Record<TestAlgorithm, readonly string[]>> = {
  'rsa-1024': ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:1024'],
  'rsa-2048': ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048'],
  'rsa-3072': ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:3072'],
  'rsa-4096': ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:4096'],
  'ecdsa-p256': ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  'ecdsa-p384': ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-384'],
  ed25519: ['-algorithm', 'ED25519'],
};

const asn1Time = (date: Date): string => `${date.toISOString().replace(/[-:T]|\.\d+Z$/g, '')}Z`;
