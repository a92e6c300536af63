/**
 * A stand-in for kube-apiserver, for the playground: it takes kube-apiserver's flags and keeps the rules about keys and
 * tokens, and nothing else. It stores nothing and starts nothing.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { parseDuration } from '../../../src/core/duration.js';
import { parseApiserverFlags, readFlags } from '../../../src/kube/flags.js';
import { Keys } from './keys.js';
import { route, STAND_IN, type Reply, type State } from './routes.js';

const argv = process.argv.slice(2);
const flags = readFlags(argv);
const value = (name: string): string => {
  const found = flags.get(name)?.at(-1);
  if (found === undefined) throw new Error(`--${name} is missing`);
  return found;
};

const { signingKeyFile, keyFiles, issuers } = parseApiserverFlags(argv);
const state: State = {
  keys: new Keys(signingKeyFile ?? value('service-account-signing-key-file'), keyFiles, issuers[0] ?? ''),
  ready: true,
};

const server = createServer(
  {
    cert: readFileSync(value('tls-cert-file')),
    key: readFileSync(value('tls-private-key-file')),
    ca: readFileSync(value('client-ca-file')),
    requestCert: true,
    rejectUnauthorized: false,
  },
  (request, response) => {
    const answer = async (): Promise<Reply> => {
      const body = await text(request);
      return route(request, body === '' ? undefined : JSON.parse(body), state);
    };
    answer()
      .catch((error: unknown): Reply => ({
        status: 400,
        body: { kind: 'Status', code: 400, message: String(error) },
      }))
      .then(({ status, body }) => {
        const plain = typeof body === 'string';
        response.writeHead(status, {
          Server: STAND_IN,
          'Content-Type': plain ? 'text/plain' : 'application/json',
        });
        response.end(plain ? body : JSON.stringify(body));
      })
      .catch((error: unknown) => console.error(error));
  },
);

process.on('SIGTERM', () => {
  state.ready = false;
  setTimeout(
    () => {
      server.close(() => process.exit(0));
      server.closeIdleConnections();
    },
    parseDuration(flags.get('shutdown-delay-duration')?.at(-1) ?? '0s'),
  );
});

server.listen(Number(value('secure-port')), value('bind-address'), () => {
  console.log(
    `This is not a kube-apiserver but a stand-in for it (${STAND_IN}). Listening on ${value('bind-address')}:${value('secure-port')}.`,
  );
});
