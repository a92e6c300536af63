import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { text } from 'node:stream/consumers';
import { LOOPBACK_NAME } from '../../../src/kube/flags.js';
import { ownPair } from './own-pair.js';
import { failure, route, STAND_IN, type Reply, type State } from './routes.js';
import { userOf } from './users.js';

const log = (line: string): void => console.log(`${new Date().toISOString()} ${line}`);

const answer = async (request: IncomingMessage, state: State): Promise<Reply> => {
  const method = request.method ?? 'GET';
  const url = new URL(request.url ?? '/', `https://${request.headers.host ?? 'localhost'}`);
  let user;
  try {
    user = await userOf(request, state.keys);
  } catch (error) {
    log(
      `Unable to authenticate ${method} ${url.pathname}: ${error instanceof Error ? error.message : String(error)}`,
    );
    return failure(401, 'Unauthorized');
  }
  let body: unknown;
  try {
    const sent = await text(request);
    body = sent === '' ? undefined : JSON.parse(sent);
  } catch {
    return failure(400, 'the body is not JSON');
  }
  return route({ method, url, user, body }, state);
};

const send = (response: ServerResponse, { status, body, headers }: Reply, state: State): void => {
  const isText = typeof body === 'string';
  response.writeHead(status, {
    Server: `${STAND_IN} (a stand-in, not kube-apiserver)`,
    'Content-Type': isText ? 'text/plain; charset=utf-8' : 'application/json',
    'Cache-Control': 'no-cache, private',
    ...headers,
    ...(state.stopping && { Connection: 'close' }),
  });
  response.end(isText ? body : JSON.stringify(body));
};

export interface ServerFiles {
  readonly cert: string;
  readonly key: string;
  /** CA of the client certificates. */
  readonly clientCa: string;
}

/** The HTTPS server: TLS, who asks, and an answer to it. To whoever asks for its own name it shows its own certificate. */
export const createApiserver = async (files: ServerFiles, state: State): Promise<Server> => {
  const server = createServer(
    {
      cert: readFileSync(files.cert),
      key: readFileSync(files.key),
      ca: readFileSync(files.clientCa),
      requestCert: true,
      // A request without a certificate may have a token, and one with a bad one is told so over HTTP.
      rejectUnauthorized: false,
    },
    (request, response) => {
      answer(request, state)
        .catch((error: unknown) => {
          log(`Internal error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
          return failure(500, 'Internal error');
        })
        .then((reply) => send(response, reply, state))
        .catch((error: unknown) => log(String(error)));
    },
  );
  server.addContext(LOOPBACK_NAME, await ownPair());
  return server;
};

/** Goes on answering for a while, no longer ready, and then lets the requests under way finish. */
export const stopGracefully = (server: Server, state: State, delayMs: number, done: () => void): void => {
  state.stopping = true;
  log(`SIGTERM: not ready from now on, closing in ${delayMs} ms`);
  setTimeout(() => {
    server.close(done);
    server.closeIdleConnections();
    setTimeout(() => server.closeAllConnections(), 5000).unref();
  }, delayMs);
};
