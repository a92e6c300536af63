import { CertrollError } from '../core/errors.js';
import type { Members } from './members.js';
import { prefixEnd } from './range.js';
import type { LockKey, StoredValue } from './store.js';

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

/** What must be so for a write to take place. */
export interface WriteConditions {
  /** The key is still as it was read (0: not there), else `etcd.conflict`. */
  readonly expectRevision?: string;
  /** That lock's key is there, else `lock.lost`. */
  readonly whileHeld?: LockKey;
}

const unchanged = (key: Buffer, revision: string) =>
  ({ key, target: 'Mod', mod_revision: revision, result: 'Equal' }) as const;

const present = (key: Buffer, revision: string) =>
  ({ key, target: 'Create', create_revision: revision, result: 'Equal' }) as const;

/** Writes, in one transaction with its conditions. */
export const put = async (
  members: Members,
  key: string,
  value: string,
  { expectRevision, whileHeld }: WriteConditions = {},
): Promise<void> => {
  const bytes = Buffer.from(key);
  const lock = whileHeld && { key: Buffer.from(whileHeld.key), revision: whileHeld.createRevision };
  let attempts = 0;
  const answer = await members.call(`write ${key}`, async (client, call) => {
    attempts += 1;
    return client.kv.txn(
      {
        compare: [
          ...(expectRevision === undefined ? [] : [unchanged(bytes, expectRevision)]),
          ...(lock ? [present(lock.key, lock.revision)] : []),
        ],
        success: [{ request_put: { key: bytes, value: Buffer.from(value) } }],
        failure: [{ request_range: { key: bytes } }, ...(lock ? [{ request_range: { key: lock.key } }] : [])],
      },
      call,
    );
  });
  if (answer.succeeded) return;
  const [found, held] = answer.responses.map((response) => response.response_range.kvs[0]);
  if (lock && held?.create_revision !== lock.revision) {
    throw new CertrollError(`${key} was not written: the lock of this run is gone from etcd`, {
      code: 'lock.lost',
      hint: 'Another run may be under way; see certroll lock show. Run again: it starts from what is there then.',
    });
  }
  // An earlier member may have written it and been cut off before it said so.
  if (attempts > 1 && found?.value.toString() === value) return;
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
