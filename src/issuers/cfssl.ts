import { parseDuration } from '../core/duration.js';
import { CertrollError, EXIT, messageOf } from '../core/errors.js';
import { CfsslApi, type CfsslApiOptions, type CfsslResult, type CfsslSettings } from './cfssl-api.js';
import type { Issuer, IssueRequest, IssuerState, IssuedCertificate } from './issuer.js';
import { checkCaLife, planLeafLife } from './life.js';
import { badRequest } from './local-ca.js';
import { readCertificates, verifyLeaf, weakKey, type Certificates } from './verify.js';

export interface CfsslOptions extends CfsslApiOptions {
  readonly renewWindowMs: number;
}

/** What a cfssl server says of itself. */
interface Server {
  readonly anchors: Certificates;
  /** Milliseconds of life that the profile gives; undefined when the server does not say. */
  readonly expiryMs: number | undefined;
}

/** cfssl's names for the key usage bit digitalSignature. */
const SIGNING = ['signing', 'digital signature'];

/** The PKI of a cfssl server (`cfssl serve`, `multirootca`). */
export class Cfssl implements Issuer {
  readonly description: string;
  readonly #api: CfsslApi;
  readonly #renewWindowMs: number;

  constructor(settings: CfsslSettings, options: CfsslOptions) {
    const names = [settings.label, settings.profile].filter((name) => name !== undefined);
    this.description = `cfssl ${settings.url}${names.length > 0 ? ` (${names.join(', ')})` : ''}`;
    this.#api = new CfsslApi(settings, options);
    this.#renewWindowMs = options.renewWindowMs;
  }

  async check(now: Date): Promise<IssuerState> {
    const { anchors } = await this.#server(now);
    return { caPem: anchors.map(({ pem }) => pem).join(''), caNotAfter: anchors[0].notAfter };
  }

  async issue({ csrPem, ttlMs, now }: IssueRequest): Promise<IssuedCertificate> {
    const { readRequest } = await import('../pem/x509.js');
    const request = await readRequest(csrPem).catch((thrown: unknown) => {
      throw badRequest(messageOf(thrown));
    });
    const weak = weakKey(request.publicKey);
    if (weak !== undefined) throw badRequest(weak);
    const { anchors, expiryMs = Infinity } = await this.#server(now);
    const renewWindowMs = this.#renewWindowMs;
    // Never longer than the profile gives: a server that keeps to a date keeps to a longer one, too.
    const life = planLeafLife(
      { ca: anchors[0], now, ttlMs: Math.min(ttlMs, expiryMs), renewWindowMs },
      this.description,
    );
    const asProfile = life.notAfter.getTime() >= now.getTime() + expiryMs - 1000;
    const answer = await this.#api.sign({ csrPem, notAfter: asProfile ? undefined : life.notAfter });
    const { leaf, pem } = await verifyLeaf({
      pem: answer.certificate,
      publicKey: request.publicKey,
      anchors,
      now,
      renewWindowMs,
      issuer: this.description,
    });
    const { notBefore, notAfter, serial } = leaf;
    return { pem, notBefore, notAfter, serial, capped: life.capped };
  }

  /** Asks the server for its CA and its profile, and refuses what could not give a usable certificate. */
  async #server(now: Date): Promise<Server> {
    const info = await this.#api.info();
    const anchors = await readCertificates(info.certificate, this.description);
    checkCaLife({ ca: anchors[0], now, renewWindowMs: this.#renewWindowMs }, this.description);
    if (info.usages && !info.usages.some((usage) => SIGNING.includes(usage)))
      throw this.#badProfile('issuer.usage', `it gives certificates for ${info.usages.join(', ')} only`);
    const expiryMs = lifeOf(info);
    if (expiryMs !== undefined && expiryMs <= this.#renewWindowMs) {
      throw this.#badProfile(
        'issuer.ttl-too-short',
        `it gives a life of ${info.expiry ?? ''}, so that a certificate would be due for renewal at once`,
      );
    }
    return { anchors, expiryMs };
  }

  #badProfile(code: string, why: string): CertrollError {
    return new CertrollError(`the profile of ${this.description} cannot be used: ${why}`, {
      code,
      exit: EXIT.usage,
      hint: 'See issuer.profile and thresholds.renewBefore in the cluster file, and the profiles of the PKI.',
    });
  }
}

const lifeOf = ({ expiry }: CfsslResult): number | undefined => {
  try {
    return expiry === undefined || expiry === '' ? undefined : parseDuration(expiry);
  } catch {
    // News, no more: what comes back is checked.
    return undefined;
  }
};
