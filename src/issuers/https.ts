import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { CertrollError, messageOf } from '../core/errors.js';

export interface PostOptions {
  readonly timeoutMs: number;
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

export interface PostAnswer {
  readonly status: number;
  readonly text: string;
}

/** Answers larger than this are refused; a chain of certificates has some kilobytes. */
const MAX_BODY = 1024 * 1024;

const once = async (url: URL, body: string, options: PostOptions): Promise<PostAnswer> =>
  new Promise((resolve, reject) => {
    const request = url.protocol === 'http:' ? httpRequest : httpsRequest;
    const { timeoutMs, ...tls } = options;
    const sent = request(
      url,
      {
        ...tls,
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) },
        signal: AbortSignal.timeout(timeoutMs),
        agent: false,
      },
      (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size > MAX_BODY) sent.destroy(new Error(`the answer has more than ${MAX_BODY} bytes`));
          else chunks.push(chunk);
        });
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
        );
        response.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });

const failure = (url: URL, thrown: unknown, timeoutMs: number): CertrollError => {
  const { code = '', name = '' } = thrown as { code?: string; name?: string };
  const isTls = /CERT|UNABLE_TO_|SELF_SIGNED|ERR_TLS|ERR_SSL|EPROTO/.test(code);
  const why =
    name === 'TimeoutError' || code === 'ABORT_ERR' ? `no answer within ${timeoutMs} ms` : messageOf(thrown);
  return new CertrollError(`the PKI at ${url.origin} cannot be used: ${why}`, {
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
export const post = async (address: string, body: object, options: PostOptions): Promise<PostAnswer> => {
  const url = new URL(address);
  const text = JSON.stringify(body);
  try {
    return await once(url, text, options).catch(async (thrown: unknown) => {
      if (!['ECONNREFUSED', 'ECONNRESET'].includes((thrown as NodeJS.ErrnoException).code ?? ''))
        throw thrown;
      return once(url, text, options);
    });
  } catch (thrown) {
    throw failure(url, thrown, options.timeoutMs);
  }
};
