/**
 * A stand-in for kube-apiserver, for the playground: it takes kube-apiserver's flags, keeps the rules about keys and
 * tokens, and does nothing else. It stores nothing and runs nothing.
 */
import { parseDuration } from '../../../src/core/duration.js';
import { parseApiserverFlags, readFlags } from '../../../src/kube/flags.js';
import { Keys } from './keys.js';
import { STAND_IN } from './routes.js';
import { createApiserver, stopGracefully } from './server.js';

const KNOWN = [
  'bind-address',
  'client-ca-file',
  'secure-port',
  'service-account-issuer',
  'service-account-key-file',
  'service-account-signing-key-file',
  'shutdown-delay-duration',
  'tls-cert-file',
  'tls-private-key-file',
];

const serve = async (argv: readonly string[]): Promise<void> => {
  const flags = readFlags(argv);
  const unknown = [...flags.keys()].find((name) => !KNOWN.includes(name));
  if (unknown !== undefined) throw new Error(`unknown flag: --${unknown}`);
  const value = (name: string, otherwise?: string): string => {
    const found = flags.get(name)?.at(-1) ?? otherwise;
    if (found === undefined) throw new Error(`--${name} is required`);
    return found;
  };

  const keys = new Keys(parseApiserverFlags(argv));
  const state = { keys, stopping: false };
  const server = await createApiserver(
    {
      cert: value('tls-cert-file'),
      key: value('tls-private-key-file'),
      clientCa: value('client-ca-file'),
    },
    state,
  );
  const delayMs = parseDuration(value('shutdown-delay-duration', '0s'));
  const stop = (): void => {
    // As kube-apiserver: who sends a second signal does not want to wait.
    if (state.stopping) process.exit(1);
    stopGracefully(server, state, delayMs, () => process.exit(0));
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);

  const ends = Number(process.env['CERTROLL_PLAYGROUND_ENDS'] ?? 0);
  if (ends > 0) setTimeout(() => process.exit(0), Math.max(0, ends - Date.now())).unref();

  const address = value('bind-address', '127.0.0.1');
  const port = value('secure-port', '6443');
  server.listen(Number(port), address, () => {
    console.log(
      [
        `This is ${STAND_IN}, a stand-in: it is NOT kube-apiserver.`,
        `Listening on ${address}:${port}, pid ${process.pid}.`,
        `Signs tokens with the key ${keys.signingKid}.`,
        ...keys.kids.map((kid) => `Verifies tokens with the key ${kid}.`),
      ].join('\n'),
    );
  });
};

try {
  await serve(process.argv.slice(2));
} catch (error) {
  console.error(`${STAND_IN}: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}
