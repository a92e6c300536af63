import type { Duplex } from 'node:stream';
import ssh2, {
  type Algorithms,
  type CipherAlgorithm,
  type Client,
  type ConnectConfig,
  type ServerHostKeyAlgorithm,
} from 'ssh2';
import { CertrollError, EXIT, messageOf } from '../core/errors.js';
import { fingerprint, judgeKey, KnownHosts, type KeyVerdict, type KnownKeys } from './known-hosts.js';
import { parseJump, resolveTarget, type SshSettings, type SshTarget } from './ssh-config.js';
import { credentialsFor, type Credentials } from './ssh2-auth.js';
import { calledOff, hostKeyRefused, notLetIn, unreachable } from './ssh-errors.js';

/** ssh2's own list still offers SHA-1; this one does not. */
const ALGORITHMS: Algorithms = {
  kex: [
    'curve25519-sha256',
    'curve25519-sha256@libssh.org',
    'ecdh-sha2-nistp256',
    'ecdh-sha2-nistp384',
    'ecdh-sha2-nistp521',
    'diffie-hellman-group16-sha512',
    'diffie-hellman-group-exchange-sha256',
    'diffie-hellman-group14-sha256',
  ],
  hmac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256', 'hmac-sha2-512'],
};

const CIPHERS: CipherAlgorithm[] = [
  'aes128-gcm@openssh.com',
  'aes256-gcm@openssh.com',
  'aes128-ctr',
  'aes256-ctr',
];

/**
 * Never through a jump host: one of ssh2's chacha20 streams inside another spoils the inner one
 * (1.17.0; they share the memory of one Poly1305), and the server hangs up.
 */
const CHACHA20: CipherAlgorithm = 'chacha20-poly1305@openssh.com';

/** Key type of a known_hosts line → the signature algorithms it can be proved with. */
const HOST_KEY_ALGORITHMS: Readonly<Record<string, readonly ServerHostKeyAlgorithm[]>> = {
  'ssh-ed25519': ['ssh-ed25519'],
  'ecdsa-sha2-nistp256': ['ecdsa-sha2-nistp256'],
  'ecdsa-sha2-nistp384': ['ecdsa-sha2-nistp384'],
  'ecdsa-sha2-nistp521': ['ecdsa-sha2-nistp521'],
  'ssh-rsa': ['rsa-sha2-512', 'rsa-sha2-256'],
};

/** More hops than anyone has: a jump host that jumps through itself must not go on for ever. */
const MOST_HOPS = 8;

export interface ConnectOptions {
  readonly settings: SshSettings;
  /** Milliseconds for one handshake, login included. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/**
 * Opens an authenticated connection, through the jump hosts if there are any; every hop's host key
 * is checked as strictly as the last one's.
 *
 * Throws `ssh.unreachable`, `ssh.host-key`, `ssh.auth`, `ssh.config` or `ssh.aborted`.
 */
export const openConnection = async (
  target: SshTarget,
  options: ConnectOptions,
  depth = 0,
): Promise<Client> => {
  if (target.proxyCommand !== undefined) {
    throw new CertrollError(
      `${target.name} is reached through a ProxyCommand, which the ssh2 transport cannot run`,
      {
        code: 'ssh.config',
        exit: EXIT.usage,
        host: target.name,
        hint: 'Set ssh.transport: openssh, or use ProxyJump.',
      },
    );
  }
  if (depth > MOST_HOPS) throw unreachable(target.name, `more than ${MOST_HOPS} jump hosts`);
  const hop = await openHop(target, options, depth);
  if (hop === undefined) return login(target, options);
  try {
    const client = await login(target, options, await forward(hop, target));
    client.on('close', () => hop.end());
    return client;
  } catch (error) {
    hop.end();
    throw error;
  }
};

/** The connection to the last jump host before `target`, itself reached through those before it. */
const openHop = async (
  target: SshTarget,
  options: ConnectOptions,
  depth: number,
): Promise<Client | undefined> => {
  const last = target.jumps.at(-1);
  if (last === undefined) return undefined;
  const { name, ...overrides } = parseJump(last);
  const hop = await resolveTarget(name, options.settings, { ...overrides, isHop: true });
  const before = target.jumps.slice(0, -1);
  try {
    return await openConnection(before.length === 0 ? hop : { ...hop, jumps: before }, options, depth + 1);
  } catch (error) {
    if (!(error instanceof CertrollError)) throw error;
    const { code, exit, hint } = error;
    throw new CertrollError(`${error.message} (on the way to ${target.name})`, {
      ...{ code, exit, host: target.name, cause: error },
      ...(hint === undefined ? {} : { hint }),
    });
  }
};

const forward = (hop: Client, target: SshTarget): Promise<Duplex> =>
  new Promise((resolve, reject) => {
    hop.forwardOut('127.0.0.1', 0, target.hostname, target.port, (error, channel) => {
      if (error === undefined) resolve(channel);
      else
        reject(unreachable(target.name, `its jump host cannot reach it: ${error.message}`, { cause: error }));
    });
  });

/** The handshake and the login, over a new TCP connection or over a forwarded one. */
const login = async (target: SshTarget, options: ConnectOptions, socket?: Duplex): Promise<Client> => {
  const known = await keysOf(target);
  const credentials = await credentialsFor(target);
  const { signal } = options;
  if (signal?.aborted) throw calledOff(target.name, signal, false);
  const client = new ssh2.Client();
  let refused: { readonly verdict: KeyVerdict; readonly key: Buffer } | undefined;
  const config: ConnectConfig = {
    ...(socket === undefined ? { host: target.hostname, port: target.port } : { sock: socket }),
    username: target.user,
    algorithms: algorithmsFor(known, socket === undefined),
    // Must stay synchronous: ssh2 takes the promise of an async verifier for a yes.
    hostVerifier: (key: Buffer): boolean => {
      const verdict = judgeKey(known, key);
      if (verdict !== 'known') refused = { verdict, key };
      return verdict === 'known';
    },
    authHandler: credentials.handler,
    readyTimeout: options.timeoutMs,
    keepaliveInterval: 5000,
    keepaliveCountMax: 3,
  };
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      if (signal !== undefined) reject(calledOff(target.name, signal, false));
      client.destroy();
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    // For the life of the client: an error without a listener would end the process.
    client.on('error', (error) => {
      // The agent failed; other ways to log in follow.
      if (error.level === 'agent') return;
      reject(explain(error, target, refused, credentials));
    });
    // The far end of a forwarded connection hangs up: nothing but this closes our end of it.
    client.on('end', () => socket?.destroy());
    client.on('close', () => reject(unreachable(target.name, 'it closed the connection')));
    client.on('ready', () => {
      signal?.removeEventListener('abort', onAbort);
      resolve(client);
    });
    try {
      client.connect(config);
    } catch (error) {
      reject(unreachable(target.name, messageOf(error), { cause: error }));
    }
  });
};

const keysOf = async (target: SshTarget): Promise<KnownKeys> => {
  const { name, isAlias } = target.keyName;
  const known = (await KnownHosts.read(target.knownHostsFiles)).lookup(name, isAlias ? 22 : target.port);
  if (known.keys.length === 0 && known.hasAuthority) {
    throw hostKeyRefused(
      target.name,
      'known_hosts knows it by @cert-authority only, and the ssh2 transport cannot check host certificates',
      {
        hint: 'Set ssh.transport: openssh in the cluster file.',
      },
    );
  }
  return known;
};

/**
 * Host keys only of the types that are known: a server that prefers another type would otherwise
 * present a key that looks changed. For an unknown host all types, so that the error can show its
 * fingerprint.
 */
const algorithmsFor = (known: KnownKeys, isDirect: boolean): Algorithms => {
  const types = new Set(known.keys.map(({ type }) => type));
  const wanted = Object.entries(HOST_KEY_ALGORITHMS).filter(([type]) => types.has(type));
  const hostKeys = wanted.length > 0 ? wanted : Object.entries(HOST_KEY_ALGORITHMS);
  return {
    ...ALGORITHMS,
    cipher: [...CIPHERS, ...(isDirect ? [CHACHA20] : [])],
    serverHostKey: hostKeys.flatMap(([, names]) => names),
  };
};

const explain = (
  error: Error & { level?: string },
  target: SshTarget,
  refused: { readonly verdict: KeyVerdict; readonly key: Buffer } | undefined,
  credentials: Credentials,
): CertrollError => {
  const { name } = target;
  if (refused !== undefined) {
    const why = {
      unknown: 'its host key is not in known_hosts',
      changed: 'its host key is not the one in known_hosts',
      revoked: 'its host key is marked @revoked in known_hosts',
      known: '',
    }[refused.verdict];
    return hostKeyRefused(name, `${why} (it presents ${fingerprint(refused.key)})`, { cause: error });
  }
  if (error.level === 'client-authentication') {
    return notLetIn(name, target.user, ['no key was accepted', ...credentials.problems].join('; '), {
      cause: error,
    });
  }
  if (error.level === 'handshake' && error.message.includes('no matching host key')) {
    return hostKeyRefused(name, 'it has no host key of a type that known_hosts has for it', { cause: error });
  }
  if (error.level === 'handshake') {
    return unreachable(name, error.message, {
      hint: 'Set ssh.transport: openssh if plain ssh can reach it.',
      cause: error,
    });
  }
  return unreachable(name, error.level === 'client-timeout' ? 'it did not answer in time' : error.message, {
    cause: error,
  });
};
