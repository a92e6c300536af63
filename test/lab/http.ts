import { Agent, request } from 'node:https';
import { API_SERVER_NAME } from './settings.js';

/** Who asks, and whom they trust. */
export interface Credentials {
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
}

export interface Call {
  readonly url: string;
  readonly method?: string;
  readonly token?: string;
  readonly body?: unknown;
  readonly timeoutMs?: number;
}

export interface Answer {
  readonly status: number;
  readonly retryAfter: number | undefined;
  readonly body: string;
}

/** No answer came: refused, reset, timed out. */
export class NoAnswer extends Error {
  /** What the system calls it, such as ECONNRESET. */
  readonly code: string;
  /** The connection had served a request before: the server may have closed it while it was idle. */
  readonly reused: boolean;

  constructor(cause: Error, reused: boolean) {
    super(cause.message, { cause });
    this.code = 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name;
    this.reused = reused;
  }
}

/** An agent that reaches an apiserver at any address by the one name that its certificate carries. */
export const agentFor = (
  credentials: Credentials,
  options: { keepAlive?: boolean; serverName?: string; maxSockets?: number } = {},
): Agent =>
  new Agent({
    ...credentials,
    servername: options.serverName ?? API_SERVER_NAME,
    keepAlive: options.keepAlive ?? false,
    maxSockets: options.maxSockets ?? Infinity,
    maxCachedSessions: 0,
  });

/** One HTTPS request. Rejects with NoAnswer when none came, never for a status. */
export const ask = (agent: Agent, call: Call): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    const fail = (error: Error): void => reject(new NoAnswer(error, outgoing.reusedSocket));
    const outgoing = request(
      call.url,
      {
        agent,
        method: call.method ?? 'GET',
        headers: {
          // /openid/v1/jwks has a type of its own and refuses a client that takes JSON only.
          accept: 'application/json, */*',
          ...(call.token === undefined ? {} : { authorization: `Bearer ${call.token}` }),
          ...(body === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        },
        signal: AbortSignal.timeout(call.timeoutMs ?? 10_000),
      },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', fail);
        incoming.on('end', () => {
          const retryAfter = Number(incoming.headers['retry-after']);
          resolve({
            status: incoming.statusCode ?? 0,
            retryAfter: Number.isFinite(retryAfter) ? retryAfter : undefined,
            body: Buffer.concat(chunks).toString('utf8'),
          });
        });
      },
    );
    outgoing.on('error', fail);
    outgoing.end(body);
  });
