import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import type { ClusterFile } from '../cluster/schema.js';
import { parseDuration } from '../core/duration.js';
import { CertrollError, EXIT, messageOf } from '../core/errors.js';
import { readSecretRef } from '../core/secret-ref.js';
import { systemRoots } from '../core/system-roots.js';
import { lockHolders } from './holders.js';
import { Members, type MembersOptions } from './members.js';
import { EtcdMutex } from './mutex.js';
import { list, put, readThroughMajority, remove } from './records.js';
import type { Store } from './store.js';

export type EtcdSettings = ClusterFile['etcd'];

/** Opens the cluster's etcd. Throws `cluster-file.invalid` or `secret.unreadable` (exit 2); connects with the first call. */
export const openStore = async (settings: EtcdSettings, baseDir: string): Promise<Store> => {
  const members = await Members.open(await optionsFrom(settings, baseDir));
  return {
    endpoints: members.endpoints,
    list: async (prefix) => list(members, prefix),
    put: async (key, value, conditions) => put(members, key, value, conditions),
    delete: async (key) => remove(members, key),
    // A key under the registry's own prefix, which this user may read.
    checkQuorum: async () => readThroughMajority(members, `${settings.prefix}/quorum`),
    mutex: (name, options) => new EtcdMutex(members, name, options),
    lockHolders: async (name) => lockHolders(members, name),
    close: async () => {
      members.close();
      return Promise.resolve();
    },
  };
};

/**
 * The client URLs of all members, by etcd itself. Throws as `openStore` and its calls do: that it comes back means that etcd
 * let these credentials in.
 */
export const memberUrls = async (settings: EtcdSettings, baseDir: string): Promise<readonly string[]> => {
  const members = await Members.open(await optionsFrom(settings, baseDir));
  try {
    const { members: found } = await members.call('list the members', async (client, call) =>
      client.cluster.memberList({}, call),
    );
    return [...new Set(found.flatMap(({ clientURLs }) => clientURLs))];
  } finally {
    members.close();
  }
};

const optionsFrom = async (settings: EtcdSettings, baseDir: string): Promise<MembersOptions> => {
  const { endpoints, serverName } = settings;
  const secure = endpoints.filter((endpoint) => endpoint.startsWith('https:')).length;
  if (secure > 0 && secure < endpoints.length) throw invalid('etcd.endpoints mixes http and https');
  if ((settings.cert === undefined) !== (settings.key === undefined))
    throw invalid('etcd.cert and etcd.key must be given together');
  if ((settings.user === undefined) !== (settings.password === undefined))
    throw invalid('etcd.user and etcd.password must be given together');
  const [ca, cert, key, password] = await Promise.all([
    read('ca', settings.ca, baseDir),
    read('cert', settings.cert, baseDir),
    read('key', settings.key, baseDir),
    settings.password && readSecretRef(settings.password, baseDir),
  ]);
  if (secure > 0 && serverName === undefined && endpoints.some(isAddress)) silenceAddressWarning();
  return {
    endpoints: endpoints.map((endpoint) => endpoint.replace(/\/+$/, '')),
    timeoutMs: parseDuration(settings.timeout),
    ...(secure > 0 && {
      credentials: {
        rootCertificate: ca ?? Buffer.from(await systemRoots()),
        ...(cert && key && { certChain: cert, privateKey: key }),
      },
    }),
    ...(settings.user !== undefined &&
      password && {
        auth: { username: settings.user, password: password.reveal((bytes: Buffer) => bytes.toString()) },
      }),
    grpcOptions: {
      // A member that was down is tried again soon; gRPC's own pause grows to two minutes.
      'grpc.initial_reconnect_backoff_ms': 200,
      'grpc.max_reconnect_backoff_ms': 1000,
      // Finds out that a watch's member hangs. Not under 5 s: etcd cuts off who pings faster.
      'grpc.keepalive_time_ms': 10_000,
      'grpc.keepalive_timeout_ms': 3000,
      // Never through a web proxy that the environment happens to name.
      'grpc.enable_http_proxy': 0,
      ...(serverName !== undefined && { 'grpc.ssl_target_name_override': serverName }),
    },
  };
};

const read = async (
  name: 'ca' | 'cert' | 'key',
  path: string | undefined,
  baseDir: string,
): Promise<Buffer | undefined> => {
  if (path === undefined) return undefined;
  try {
    return await readFile(resolve(baseDir, path));
  } catch (cause) {
    throw invalid(`etcd.${name} cannot be read: ${messageOf(cause)}`, cause);
  }
};

const invalid = (what: string, cause?: unknown): CertrollError =>
  new CertrollError(`the cluster file: ${what}`, { code: 'cluster-file.invalid', exit: EXIT.usage, cause });

const isAddress = (endpoint: string): boolean =>
  isIP(new URL(endpoint).hostname.replace(/^\[|\]$/g, '')) !== 0;

let silenced = false;

/**
 * gRPC asks for an IP address by TLS server name, which Node calls deprecated in one line on stderr (DEP0123). It is
 * how most clusters address their etcd, and nothing the reader could change.
 */
const silenceAddressWarning = (): void => {
  if (silenced) return;
  silenced = true;
  const emit = process.emitWarning.bind(process) as (...args: unknown[]) => void;
  process.emitWarning = (...args: unknown[]): void => {
    if (!args.includes('DEP0123')) emit(...args);
  };
};
