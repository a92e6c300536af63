import { request as httpRequest, type OutgoingHttpHeaders } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { messageOf } from './errors.js';

export interface Exchange {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string;
  /** CA, client pair, server name. */
  readonly tls?: RequestOptions;
  /** Milliseconds for all of it. */
  readonly timeoutMs: number;
  /** A longer answer is refused. */
  readonly maxBytes: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

/** The answer was longer than the caller takes. */
export class AnswerTooLong extends Error {}

/** One request and its answer, on a connection of its own, with a limit of time and of size. Rejects with Node's own error. */
export const exchange = async (url: URL, options: Exchange): Promise<HttpAnswer> =>
  new Promise((resolve, reject) => {
    const { method, headers, body, tls, timeoutMs, maxBytes } = options;
    const request = url.protocol === 'http:' ? httpRequest : httpsRequest;
    const sent = request(
      url,
      { ...tls, method, headers, signal: AbortSignal.timeout(timeoutMs), agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size > maxBytes) sent.destroy(new AnswerTooLong(`the answer has more than ${maxBytes} bytes`));
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

const TLS_CODES = /CERT|UNABLE_TO_|SELF_SIGNED|ERR_TLS|ERR_SSL|EPROTO/;

/** Why an exchange failed: nobody answered in time, the TLS did not come about, or there was no connection. */
export const failureKind = (thrown: unknown): 'timeout' | 'tls' | 'unreachable' => {
  const { code = '', name = '' } = thrown as { readonly code?: string; readonly name?: string };
  if (name === 'TimeoutError' || name === 'AbortError' || code === 'ABORT_ERR') return 'timeout';
  return TLS_CODES.test(code) ? 'tls' : 'unreachable';
};

/** The reason in words. */
export const failureText = (thrown: unknown, timeoutMs: number): string =>
  failureKind(thrown) === 'timeout' ? `no answer within ${timeoutMs} ms` : messageOf(thrown);
