import { CertrollError } from '../core/errors.js';
import { exchange, failureKind, failureText, type HttpAnswer } from '../core/https.js';

export interface PostOptions {
  readonly timeoutMs: number;
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

/** Bytes of the longest answer taken; a chain of certificates has some kilobytes. */
const MAX_BYTES = 1024 * 1024;

const failure = (url: URL, thrown: unknown, timeoutMs: number): CertrollError => {
  const isTls = failureKind(thrown) === 'tls';
  return new CertrollError(`the PKI at ${url.origin} cannot be used: ${failureText(thrown, timeoutMs)}`, {
    code: isTls ? 'issuer.tls' : 'issuer.unreachable',
    hint: isTls
      ? 'See issuer.ca in the cluster file: the CA that the PKI server itself is certified by.'
      : 'See that it runs and that this machine reaches it (issuer.url in the cluster file).',
    cause: thrown,
  });
};

/**
 * Posts JSON. Sent once more when the connection was refused or reset before any answer. Throws `issuer.unreachable`,
 * `issuer.tls`; never with the body, which may hold a token.
 */
export const post = async (address: string, body: object, options: PostOptions): Promise<HttpAnswer> => {
  const url = new URL(address);
  const { timeoutMs, ...tls } = options;
  const text = JSON.stringify(body);
  const send = async (): Promise<HttpAnswer> =>
    exchange(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) },
      body: text,
      tls,
      timeoutMs,
      maxBytes: MAX_BYTES,
    });
  try {
    return await send().catch(async (thrown: unknown) => {
      if (!['ECONNREFUSED', 'ECONNRESET'].includes((thrown as NodeJS.ErrnoException).code ?? ''))
        throw thrown;
      return send();
    });
  } catch (thrown) {
    throw failure(url, thrown, timeoutMs);
  }
};
