import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { z } from 'zod';
import type { ClusterFile } from '../cluster/schema.js';
import { CertrollError, EXIT, messageOf } from '../core/errors.js';
import type { Secret } from '../core/secret.js';
import { readSecretRef } from '../core/secret-ref.js';
import type { CertificateView } from '../pem/x509.js';
import { post, type PostOptions } from './https.js';
import type { Issuer, IssueRequest, IssuerState, IssuedCertificate } from './issuer.js';
import { checkCaLife, planLeafLife } from './life.js';
import { badRequest } from './local-ca.js';
import { readCertificates, verifyLeaf, weakKey } from './verify.js';

export type CfsslSettings = Extract<ClusterFile['issuer'], { type: 'cfssl' }>;

export interface CfsslOptions {
  readonly baseDir: string;
  readonly renewWindowMs: number;
  readonly timeoutMs: number;
}

const answerSchema = z.object({
  success: z.boolean(),
  result: z.object({ certificate: z.string().optional() }).nullish(),
  errors: z.array(z.object({ message: z.string() })).nullish(),
});

const readNamed = async (baseDir: string, path: string | undefined): Promise<Buffer | undefined> => {
  if (path === undefined) return undefined;
  try {
    return await readFile(resolve(baseDir, path));
  } catch (cause) {
    throw new CertrollError(
      `cannot read ${path}, named under issuer in the cluster file: ${messageOf(cause)}`,
      {
        code: 'cluster-file.invalid',
        exit: EXIT.usage,
        cause,
      },
    );
  }
};

/** cfssl's key for authsign is written in hexadecimal. */
const authKeyOf = async (settings: CfsslSettings, baseDir: string): Promise<Secret | undefined> => {
  if (!settings.authKey) return undefined;
  const key = await readSecretRef(settings.authKey, baseDir);
  const isHex = key.reveal((bytes) => /^([0-9a-fA-F]{2})+$/.test(bytes.toString()));
  if (isHex) return key;
  throw new CertrollError('issuer.authKey of the cluster file is not the hexadecimal text that cfssl takes', {
    code: 'issuer.auth',
    exit: EXIT.usage,
    hint: 'It is the "key" under auth_keys in the configuration of the PKI.',
  });
};

/** The PKI of a cfssl server (`cfssl serve`, `multirootca`). */
class Cfssl implements Issuer {
  readonly description: string;
  readonly #settings: CfsslSettings;
  readonly #options: CfsslOptions;
  readonly #post: PostOptions;
  readonly #authKey: Secret | undefined;

  constructor(settings: CfsslSettings, options: CfsslOptions, tls: PostOptions, authKey: Secret | undefined) {
    this.description = `cfssl ${settings.url}${settings.label === undefined ? '' : ` (${settings.label})`}`;
    this.#settings = settings;
    this.#options = options;
    this.#post = tls;
    this.#authKey = authKey;
  }

  async check(now: Date): Promise<IssuerState> {
    const [ca] = await this.#ca();
    checkCaLife({ ca, now, renewWindowMs: this.#options.renewWindowMs }, this.description);
    return { caPem: ca.pem, caNotAfter: ca.notAfter };
  }

  async issue({ csrPem, ttlMs, now }: IssueRequest): Promise<IssuedCertificate> {
    const { renewWindowMs } = this.#options;
    const [anchors, { readRequest }] = await Promise.all([this.#ca(), import('../pem/x509.js')]);
    const life = planLeafLife({ ca: anchors[0], now, ttlMs, renewWindowMs }, this.description);
    const request = await readRequest(csrPem).catch((thrown: unknown) => {
      throw badRequest(messageOf(thrown));
    });
    const weak = weakKey(request.publicKey);
    if (weak !== undefined) throw badRequest(weak);
    const { label, profile } = this.#settings;
    const answer = await this.#sign({
      certificate_request: csrPem,
      ...(label === undefined ? {} : { label }),
      ...(profile === undefined ? {} : { profile }),
      // Newer servers keep to these; older ones take the life from their profile. What comes back is checked either way.
      not_before: life.notBefore.toISOString(),
      not_after: life.notAfter.toISOString(),
    });
    const { leaf, pem } = await verifyLeaf({
      pem: answer,
      publicKey: request.publicKey,
      anchors,
      now,
      renewWindowMs,
      issuer: this.description,
    });
    const { notBefore, notAfter, serial } = leaf;
    return { pem, notBefore, notAfter, serial, capped: life.capped };
  }

  async #ca(): Promise<readonly [CertificateView, ...CertificateView[]]> {
    const { label } = this.#settings;
    return readCertificates(await this.#call('info', { label: label ?? '' }), this.description);
  }

  /** As cfssl's own client: the request as base64, with the HMAC-SHA256 of it under the auth key. */
  async #sign(request: object): Promise<string> {
    const key = this.#authKey;
    if (!key) return this.#call('sign', request);
    const bytes = Buffer.from(JSON.stringify(request));
    const token = key.reveal((hex) =>
      createHmac('sha256', Buffer.from(hex.toString(), 'hex')).update(bytes).digest('base64'),
    );
    return this.#call('authsign', { token, request: bytes.toString('base64') });
  }

  /** The certificate in the answer to one call. */
  async #call(endpoint: string, body: object): Promise<string> {
    const url = `${this.#settings.url.replace(/\/+$/, '')}/api/v1/cfssl/${endpoint}`;
    const { status, text } = await post(url, body, this.#post);
    let answer: z.output<typeof answerSchema>;
    try {
      answer = answerSchema.parse(JSON.parse(text));
    } catch {
      throw new CertrollError(`${url} answered ${status} with something that is not cfssl's`, {
        code: 'issuer.answer',
        hint: 'See issuer.url in the cluster file, and the log of the PKI.',
      });
    }
    const certificate = answer.result?.certificate;
    if (answer.success && certificate !== undefined) return certificate;
    const reasons =
      (answer.errors ?? []).map(({ message }) => message.slice(0, 200)).join('; ') || `HTTP ${status}`;
    const isAuth = status === 401 || /auth|token/i.test(reasons);
    throw new CertrollError(`${this.description} refused ${endpoint}: ${reasons}`, {
      code: isAuth ? 'issuer.auth' : 'issuer.refused',
      hint: isAuth
        ? 'See issuer.authKey in the cluster file.'
        : 'See issuer.label and issuer.profile in the cluster file, and the log of the PKI.',
    });
  }
}

/** Opens a cfssl server. Reads the files that the cluster file names; connects with the first call. */
export const openCfssl = async (settings: CfsslSettings, options: CfsslOptions): Promise<Issuer> => {
  const { baseDir, timeoutMs } = options;
  const [ca, cert, key, authKey] = await Promise.all([
    readNamed(baseDir, settings.ca),
    readNamed(baseDir, settings.cert),
    readNamed(baseDir, settings.key),
    authKeyOf(settings, baseDir),
  ]);
  return new Cfssl(
    settings,
    options,
    { timeoutMs, ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) },
    authKey,
  );
};
