import { CertrollError, EXIT } from '../core/errors.js';
import { AnswerTooLong, exchange, failureKind, failureText, type HttpAnswer } from '../core/https.js';

export interface PostOptions {
  readonly timeoutMs: number;
  readonly ca: Buffer | string;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

/** Bytes of the longest answer taken; a chain of certificates has some kilobytes. */
const MAX_BYTES = 1024 * 1024;

/**
 * Posts JSON. Sent once more when the connection was refused or reset before any answer. Throws `issuer.insecure`,
 * `issuer.unreachable`, `issuer.timeout`, `issuer.tls` or `issuer.answer`; never with the body, which may hold a token.
 */
export const post = async (address: string, body: object, options: PostOptions): Promise<HttpAnswer> => {
  const url = new URL(address);
  if (url.protocol !== 'https:' && !isLoopback(url)) throw insecure(url);
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
      if (!wasUnanswered(thrown)) throw thrown;
      return send();
    });
  } catch (thrown) {
    throw failure(url, thrown, timeoutMs);
  }
};

/** Refused or reset before the first byte of an answer; Node calls an answer that breaks off "aborted". */
const wasUnanswered = (thrown: unknown): boolean =>
  thrown instanceof Error &&
  'code' in thrown &&
  (thrown.code === 'ECONNREFUSED' || (thrown.code === 'ECONNRESET' && thrown.message !== 'aborted'));

const isLoopback = ({ hostname }: URL): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);

const insecure = (url: URL): CertrollError =>
  new CertrollError(`the PKI at ${url.origin} would be asked without TLS`, {
    code: 'issuer.insecure',
    exit: EXIT.usage,
    hint: 'What it answers is trusted by who it is: give an https address in issuer.url, or one of this machine.',
  });

const FAILURES = {
  tls: [
    'issuer.tls',
    'See issuer.ca in the cluster file (the CA that the PKI server itself is certified by), and issuer.cert and issuer.key where it asks for a client certificate.',
  ],
  timeout: ['issuer.timeout', 'See whether it is overloaded, or something between drops the packets.'],
  unreachable: [
    'issuer.unreachable',
    'See that it runs and that this machine reaches it (issuer.url in the cluster file).',
  ],
  answer: ['issuer.answer', 'See that issuer.url in the cluster file is that of a cfssl server.'],
} as const;

const failure = (url: URL, thrown: unknown, timeoutMs: number): CertrollError => {
  const kind = thrown instanceof AnswerTooLong ? 'answer' : failureKind(thrown);
  const [code, hint] = FAILURES[kind];
  return new CertrollError(`the PKI at ${url.origin} cannot be used: ${failureText(thrown, timeoutMs)}`, {
    code,
    hint,
    cause: thrown,
  });
};
