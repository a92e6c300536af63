import { CertrollError } from '../core/errors.js';
import type { Members } from './members.js';
import { prefixEnd } from './range.js';
import type { StoredValue } from './store.js';

/** All keys under a prefix, with values, read through a majority. */
export const list = async (members: Members, prefix: string): Promise<ReadonlyMap<string, StoredValue>> => {
  // etcd takes no empty key; the smallest one there can be is a zero byte.
  const key = prefix === '' ? Buffer.from([0]) : Buffer.from(prefix);
  const answer = await members.call(`read ${prefix}`, async (client, call) =>
    client.kv.range({ key, range_end: prefixEnd(prefix) }, call),
  );
  return new Map(
    answer.kvs.map((kv) => [kv.key.toString(), { value: kv.value.toString(), modRevision: kv.mod_revision }]),
  );
};

export const put = async (members: Members, key: string, value: string): Promise<void> => {
  await members.call(`write ${key}`, async (client, call) =>
    client.kv.put({ key: Buffer.from(key), value: Buffer.from(value) }, call),
  );
};

/** Writes if the key is still as it was read (revision 0: not there). Throws `etcd.conflict` if not. */
export const putIfUnchanged = async (
  members: Members,
  key: string,
  value: string,
  expectRevision: string,
): Promise<void> => {
  const bytes = Buffer.from(key);
  let attempts = 0;
  const answer = await members.call(`write ${key}`, async (client, call) => {
    attempts += 1;
    return client.kv.txn(
      {
        compare: [{ key: bytes, target: 'Mod', mod_revision: expectRevision, result: 'Equal' }],
        success: [{ request_put: { key: bytes, value: Buffer.from(value) } }],
        failure: [{ request_range: { key: bytes } }],
      },
      call,
    );
  });
  if (answer.succeeded) return;
  // An earlier member may have written it and been cut off before it said so.
  const found = answer.responses[0]?.response_range.kvs[0]?.value.toString();
  if (attempts > 1 && found === value) return;
  throw new CertrollError(`${key} in etcd was changed by someone else meanwhile`, {
    code: 'etcd.conflict',
    hint: 'Run again: it starts from what is there now.',
  });
};

export const remove = async (members: Members, key: string): Promise<void> => {
  await members.call(`delete ${key}`, async (client, call) =>
    client.kv.deleteRange({ key: Buffer.from(key) }, call),
  );
};

/** Fails when there is no quorum: a linearizable read goes through the leader and a majority. */
export const readThroughMajority = async (members: Members, key: string): Promise<void> => {
  await members.call('read through a majority', async (client, call) =>
    client.kv.range({ key: Buffer.from(key), serializable: false, count_only: true }, call),
  );
};
