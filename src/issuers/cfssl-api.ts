import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { z } from 'zod';
import type { ClusterFile } from '../cluster/schema.js';
import { CertrollError, EXIT, messageOf } from '../core/errors.js';
import { Secret } from '../core/secret.js';
import { readSecretRef } from '../core/secret-ref.js';
import { systemRoots } from '../core/system-roots.js';
import { oneLine } from '../core/text.js';
import { post, type PostOptions } from './https.js';

export type CfsslSettings = Extract<ClusterFile['issuer'], { type: 'cfssl' }>;

export interface CfsslApiOptions {
  readonly baseDir: string;
  readonly timeoutMs: number;
}

const MAX_PEM = 200_000;

const answerSchema = z.object({
  success: z.boolean(),
  result: z
    .object({
      certificate: z.string().max(MAX_PEM),
      usages: z.array(z.string()).nullish(),
      expiry: z.string().nullish(),
    })
    .nullish(),
  errors: z.array(z.object({ message: z.string() })).nullish(),
});

export interface CfsslResult {
  /** PEM. */
  readonly certificate: string;
  /** Of the profile, where the answer says (`info` does). */
  readonly usages: readonly string[] | undefined;
  /** Life that the profile gives, as Go prints a duration. */
  readonly expiry: string | undefined;
}

/** A certificate request as cfssl takes it. */
export interface SignRequest {
  readonly csrPem: string;
  /** A wish: multirootca 1.6.5 keeps to it; 1.2.0, and `cfssl serve` of both, go by their profile. */
  readonly notAfter: Date | undefined;
}

/** What cfssl's servers (`cfssl serve`, `multirootca`) can be asked. Files and secrets are read each time, and not kept. */
export class CfsslApi {
  readonly #settings: CfsslSettings;
  readonly #options: CfsslApiOptions;

  constructor(settings: CfsslSettings, options: CfsslApiOptions) {
    this.#settings = settings;
    this.#options = options;
  }

  /** The CA's certificate, and what the profile gives. */
  async info(): Promise<CfsslResult> {
    const { label = '', profile } = this.#settings;
    return this.#call('info', { label, ...(profile !== undefined && { profile }) });
  }

  /** Has a request signed: with a token (authsign) where the cluster file names an auth key, without one (sign) else. */
  async sign({ csrPem, notAfter }: SignRequest): Promise<CfsslResult> {
    const { label, profile } = this.#settings;
    const request = {
      certificate_request: csrPem,
      ...(label !== undefined && { label }),
      ...(profile !== undefined && { profile }),
      ...(notAfter && { NotAfter: notAfter.toISOString() }),
    };
    const key = await this.#authKey();
    if (!key) return this.#call('sign', request);
    const bytes = Buffer.from(JSON.stringify(request));
    const token = key.reveal((raw) => createHmac('sha256', raw).update(bytes).digest('base64'));
    key.wipe();
    return this.#call('authsign', { token, request: bytes.toString('base64') });
  }

  async #call(endpoint: string, body: object): Promise<CfsslResult> {
    const url = `${this.#settings.url.replace(/\/+$/, '')}/api/v1/cfssl/${endpoint}`;
    const { status, text } = await post(url, body, await this.#postOptions());
    const answer = parseAnswer(text);
    if (!answer) throw notCfssl(url, endpoint, status);
    const { success, result, errors } = answer;
    if (success && result) {
      const { certificate, usages, expiry } = result;
      return { certificate, usages: usages ?? undefined, expiry: expiry ?? undefined };
    }
    const said = (errors ?? []).map(({ message }) => message).join('; ');
    throw refusal(url, status, oneLine(said.slice(0, 300)) || `HTTP ${status}`);
  }

  async #postOptions(): Promise<PostOptions> {
    const { ca, cert, key } = this.#settings;
    const files = await Promise.all([this.#read('ca', ca), this.#read('cert', cert), this.#read('key', key)]);
    return {
      timeoutMs: this.#options.timeoutMs,
      ca: files[0] ?? (await systemRoots()),
      ...(files[1] && { cert: files[1] }),
      ...(files[2] && { key: files[2] }),
    };
  }

  /** cfssl's auth keys are written in hexadecimal. */
  async #authKey(): Promise<Secret | undefined> {
    const { authKey } = this.#settings;
    if (!authKey) return undefined;
    const written = await readSecretRef(authKey, this.#options.baseDir);
    const key = written.reveal((text) =>
      /^([0-9a-fA-F]{2})+$/.test(text.toString())
        ? new Secret(Buffer.from(text.toString(), 'hex'))
        : undefined,
    );
    written.wipe();
    if (key) return key;
    throw new CertrollError(
      'issuer.authKey in the cluster file is not the hexadecimal text that cfssl takes',
      {
        code: 'issuer.auth',
        exit: EXIT.usage,
        hint: "It is the 'key' under auth_keys in the configuration of the PKI.",
      },
    );
  }

  async #read(name: 'ca' | 'cert' | 'key', path: string | undefined): Promise<Buffer | undefined> {
    if (path === undefined) return undefined;
    try {
      return await readFile(resolve(this.#options.baseDir, path));
    } catch (cause) {
      throw new CertrollError(`the cluster file: issuer.${name} cannot be read: ${messageOf(cause)}`, {
        code: 'cluster-file.invalid',
        exit: EXIT.usage,
        cause,
      });
    }
  }
}

const parseAnswer = (text: string): z.output<typeof answerSchema> | undefined => {
  try {
    return answerSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
};

/** A server whose profiles all want authentication does not even have `sign`. */
const notCfssl = (url: string, endpoint: string, status: number): CertrollError =>
  endpoint === 'sign' && status === 404
    ? new CertrollError(`${url} is not there: this PKI signs authenticated requests only`, {
        code: 'issuer.auth',
        hint: 'Name its key in issuer.authKey of the cluster file.',
      })
    : new CertrollError(`${url} answered HTTP ${status} with something that is not cfssl's`, {
        code: 'issuer.answer',
        hint: 'See that issuer.url in the cluster file is that of a cfssl server, and the log of the PKI.',
      });

const refusal = (url: string, status: number, said: string): CertrollError => {
  const isAuth = status === 401 || status === 403 || /\b(token|auth\w*)\b/i.test(said);
  return new CertrollError(`${url} refused: ${said}`, {
    code: isAuth ? 'issuer.auth' : 'issuer.refused',
    hint: isAuth
      ? "See issuer.authKey in the cluster file and the profile's auth_key at the PKI."
      : 'See issuer.label and issuer.profile in the cluster file, and the log of the PKI.',
  });
};
