import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { ClusterFile } from '../cluster/schema.js';
import { parseDuration } from '../core/duration.js';
import { CertrollError, EXIT, messageOf } from '../core/errors.js';
import { readSecretRef } from '../core/secret-ref.js';
import { lockHolders, EtcdMutex } from './mutex.js';
import { Members, type MembersOptions } from './members.js';
import type { Store } from './store.js';

export type EtcdSettings = ClusterFile['etcd'];

const read = async (baseDir: string, path: string | undefined): Promise<Buffer | undefined> => {
  if (path === undefined) return undefined;
  try {
    return await readFile(resolve(baseDir, path));
  } catch (cause) {
    throw new CertrollError(
      `cannot read ${path}, named under etcd in the cluster file: ${messageOf(cause)}`,
      { code: 'cluster-file.invalid', exit: EXIT.usage, cause },
    );
  }
};

const options = async (settings: EtcdSettings, baseDir: string): Promise<MembersOptions> => {
  const [ca, cert, key] = await Promise.all([
    read(baseDir, settings.ca),
    read(baseDir, settings.cert),
    read(baseDir, settings.key),
  ]);
  const password = settings.password && (await readSecretRef(settings.password, baseDir));
  // gRPC warns when a TLS name is an IP address; any name the certificate carries does, and the address is its own.
  const { serverName } = settings;
  return {
    endpoints: settings.endpoints,
    timeoutMs: parseDuration(settings.timeout),
    ...(ca && {
      credentials: { rootCertificate: ca, ...(key && { privateKey: key }), ...(cert && { certChain: cert }) },
    }),
    ...(settings.user !== undefined &&
      password && {
        auth: { username: settings.user, password: password.reveal((bytes: Buffer) => bytes.toString()) },
      }),
    ...(serverName !== undefined && { grpcOptions: { 'grpc.ssl_target_name_override': serverName } }),
  };
};

/** Opens the cluster's etcd. Throws `cluster-file.invalid` for files that cannot be read; connects with the first call. */
export const openStore = async (settings: EtcdSettings, baseDir: string): Promise<Store> => {
  const members = new Members(await options(settings, baseDir));
  return storeOver(members);
};

const storeOver = (members: Members): Store => ({
  endpoints: members.endpoints,

  async list(prefix) {
    const answer = await members.call(`read ${prefix}`, async (client, call) => {
      const start = Buffer.from(prefix);
      const end = Buffer.from(prefix);
      end.writeUInt8((end.at(-1) ?? 0) + 1, end.length - 1);
      return client.kv.range({ key: start, range_end: end }, call);
    });
    return new Map(
      answer.kvs.map((kv) => [
        kv.key.toString(),
        { value: kv.value.toString(), modRevision: kv.mod_revision },
      ]),
    );
  },

  async put(key, value, { expectRevision } = {}) {
    const bytes = Buffer.from(key);
    const put = { key: bytes, value: Buffer.from(value) };
    if (expectRevision === undefined) {
      await members.call(`write ${key}`, async (client, call) => client.kv.put(put, call));
      return;
    }
    const answer = await members.call(`write ${key}`, async (client, call) =>
      client.kv.txn(
        {
          compare: [{ key: bytes, target: 'Mod', mod_revision: expectRevision, result: 'Equal' }],
          success: [{ request_put: put }],
          failure: [],
        },
        call,
      ),
    );
    if (!answer.succeeded) {
      throw new CertrollError(`${key} in etcd was changed by someone else meanwhile`, {
        code: 'etcd.conflict',
        hint: 'Run again.',
      });
    }
  },

  async delete(key) {
    await members.call(`delete ${key}`, async (client, call) =>
      client.kv.deleteRange({ key: Buffer.from(key) }, call),
    );
  },

  async checkQuorum() {
    // A linearizable read has to go through the leader and a majority.
    await members.call('read from a majority', async (client, call) =>
      client.kv.range({ key: Buffer.from('certroll-quorum'), serializable: false }, call),
    );
  },

  mutex: (name, mutexOptions) => new EtcdMutex(members, name, mutexOptions),
  lockHolders: async (name) => lockHolders(members, name),

  close: async () => {
    members.close();
    return Promise.resolve();
  },
});
