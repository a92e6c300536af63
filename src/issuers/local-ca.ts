import { CertrollError, EXIT, messageOf } from '../core/errors.js';
import type { Issuer, IssueRequest, IssuerState, IssuedCertificate } from './issuer.js';
import { checkCaLife, planLeafLife } from './life.js';
import { loadLocalCa, type LocalCaSettings } from './local-ca-files.js';
import { verifyLeaf, weakKey } from './verify.js';

export interface LocalCaOptions {
  readonly baseDir: string;
  readonly renewWindowMs: number;
}

/** A CA whose certificate and key are files on this machine. The files are read when they are needed, each time. */
export class LocalCa implements Issuer {
  readonly description: string;
  readonly #settings: LocalCaSettings;
  readonly #options: LocalCaOptions;

  constructor(settings: LocalCaSettings, options: LocalCaOptions) {
    this.description = `local CA ${settings.cert}`;
    this.#settings = settings;
    this.#options = options;
  }

  async check(now: Date): Promise<IssuerState> {
    const { renewWindowMs, baseDir } = this.#options;
    const ca = await loadLocalCa(this.#settings, baseDir);
    checkCaLife({ ca, now, renewWindowMs }, this.description);
    return { caPem: ca.certificates.map((one) => one.pem).join(''), caNotAfter: ca.notAfter };
  }

  async issue({ csrPem, ttlMs, now }: IssueRequest): Promise<IssuedCertificate> {
    const { renewWindowMs, baseDir } = this.#options;
    const [ca, { readRequest, signLeaf, viewCertificate }] = await Promise.all([
      loadLocalCa(this.#settings, baseDir),
      import('../pem/x509.js'),
    ]);
    const life = planLeafLife({ ca, now, ttlMs, renewWindowMs }, this.description);
    const request = await readRequest(csrPem).catch((thrown: unknown) => {
      throw badRequest(messageOf(thrown));
    });
    const weak = weakKey(request.publicKey);
    if (weak !== undefined) throw badRequest(weak);
    const der = await signLeaf({ request, ca: ca.certificates[0], caKey: ca.key, ...life });
    // Its own work is checked as anyone's: a CA file may hold more than its fields show.
    const { leaf, pem } = await verifyLeaf({
      pem: viewCertificate(der).pem,
      publicKey: request.publicKey,
      anchors: ca.certificates,
      now,
      renewWindowMs,
      issuer: this.description,
    });
    const { notBefore, notAfter, serial } = leaf;
    return { pem, notBefore, notAfter, serial, capped: life.capped };
  }
}

/** The request itself is at fault. */
export const badRequest = (why: string): CertrollError =>
  new CertrollError(`the certificate request cannot be used: ${why}`, {
    code: 'issuer.request',
    exit: EXIT.failed,
  });
