import { z } from 'zod';
import { CertrollError, EXIT } from '../core/errors.js';
import { poll } from '../core/poll.js';
import { Lease } from './lease.js';
import type { Members } from './members.js';
import { inOrder, lockKey, positionOf, type QueuedKey } from './queue.js';
import type { HeldLock, HolderInfo, LockHolder, Mutex, MutexOptions } from './store.js';

const POLL_MS = 250;

const holderSchema = z.object({
  owner: z.string(),
  pid: z.number(),
  run: z.string(),
  reason: z.string(),
  since: z.string(),
});

/** What a holder wrote of itself; undefined for etcdctl, which writes nothing. */
const infoOf = (value: string): HolderInfo | undefined => {
  try {
    return holderSchema.parse(JSON.parse(value));
  } catch {
    return undefined;
  }
};

const prefixEnd = (prefix: Buffer): Buffer => {
  const end = Buffer.from(prefix);
  end.writeUInt8((end.at(-1) ?? 0) + 1, end.length - 1);
  return end;
};

/** Every key of the lock, read from a quorum. */
const keysOf = async (members: Members, name: string): Promise<readonly QueuedKey[]> => {
  const prefix = Buffer.from(`${name}/`);
  const answer = await members.call(`read the lock ${name}`, async (client, options) =>
    client.kv.range({ key: prefix, range_end: prefixEnd(prefix) }, options),
  );
  return answer.kvs.map((kv) => ({
    key: kv.key.toString(),
    createRevision: BigInt(kv.create_revision),
    value: kv.value.toString(),
    lease: kv.lease,
  }));
};

const holderOf = async (members: Members, found: QueuedKey): Promise<LockHolder> => {
  const lease = await members.call('read a lease', async (client, options) =>
    client.leaseClient.leaseTimeToLive({ ID: found.lease, keys: false }, options),
  );
  const remaining = Number(lease.TTL);
  return {
    key: found.key,
    createRevision: found.createRevision.toString(),
    info: infoOf(found.value),
    lease: remaining > 0 ? { remaining, granted: Number(lease.grantedTTL) } : undefined,
  };
};

/** Who holds the lock and who waits, oldest first. */
export const lockHolders = async (members: Members, name: string): Promise<readonly LockHolder[]> => {
  const keys = await keysOf(members, name);
  return Promise.all(inOrder(keys).map(async (key) => holderOf(members, key)));
};

/** Puts the own key if it is not there, and returns its create revision. */
const enqueue = async (members: Members, key: string, lease: string, value: string): Promise<bigint> => {
  const bytes = Buffer.from(key);
  const answer = await members.call(`take part in the lock ${key}`, async (client, options) =>
    client.kv.txn(
      {
        compare: [{ key: bytes, target: 'Create', create_revision: '0', result: 'Equal' }],
        success: [{ request_put: { key: bytes, value: Buffer.from(value), lease } }],
        failure: [{ request_range: { key: bytes } }],
      },
      options,
    ),
  );
  const existing = answer.responses[0]?.response_range?.kvs[0];
  return BigInt(answer.succeeded ? answer.header.revision : (existing?.create_revision ?? '0'));
};

const nameOf = (holder: LockHolder): string =>
  holder.info
    ? `${holder.info.owner} (pid ${holder.info.pid}, run ${holder.info.run}, since ${holder.info.since}: ${holder.info.reason})`
    : `a holder that left no name, as etcdctl lock does (key ${holder.key})`;

/** etcd's own mutex over a cluster's members. */
export class EtcdMutex implements Mutex {
  readonly #members: Members;
  readonly #name: string;
  readonly #options: MutexOptions;

  constructor(members: Members, name: string, options: MutexOptions) {
    this.#members = members;
    this.#name = name;
    this.#options = options;
  }

  /** Throws `lock.timeout` (exit 5), `lock.lost`, `etcd.*`, or the reason of the signal; the own key is gone then. */
  async acquire(): Promise<HeldLock> {
    const lease = await Lease.grant(this.#members, this.#options.ttl, this.#name);
    try {
      const key = lockKey(this.#name, lease.id);
      const createRevision = await enqueue(
        this.#members,
        key,
        lease.id,
        JSON.stringify(this.#options.holder),
      );
      const own = { key, createRevision };
      await this.#wait(own, lease);
      return this.#held(own, lease);
    } catch (thrown) {
      await lease.revoke();
      throw thrown;
    }
  }

  async #wait(own: { readonly key: string; readonly createRevision: bigint }, lease: Lease): Promise<void> {
    const { signal = new AbortController().signal, waitMs, onWait } = this.#options;
    let last: LockHolder | undefined;
    const acquired = await poll(
      async () => {
        const position = positionOf(await keysOf(this.#members, this.#name), own);
        if (position.state === 'gone') lease.lose('its key is gone from etcd');
        lease.assertAlive();
        if (position.state === 'holder') return true;
        if (position.state === 'waiting' && last?.key !== position.holder.key) {
          last = await holderOf(this.#members, position.holder);
          onWait?.(last);
        }
        return undefined;
      },
      { timeoutMs: waitMs, intervalMs: POLL_MS, signal: AbortSignal.any([signal, lease.signal]) },
    );
    if (acquired) return;
    throw new CertrollError(
      `the lock ${this.#name} was not had within ${waitMs / 1000} s; it is held by ${last ? nameOf(last) : 'someone'}`,
      {
        code: 'lock.timeout',
        exit: EXIT.locked,
        hint: "Look at 'certroll lock show'. The run can be started again at any time.",
      },
    );
  }

  #held(own: { readonly key: string; readonly createRevision: bigint }, lease: Lease): HeldLock {
    return {
      signal: lease.signal,
      key: own.key,
      assertHeld: () => lease.assertAlive(),
      recheck: async () => {
        const position = positionOf(await keysOf(this.#members, this.#name), own);
        if (position.state !== 'holder')
          lease.lose(position.state === 'gone' ? 'its key is gone from etcd' : 'another key came before it');
        lease.assertAlive();
      },
      release: async () => lease.revoke(),
    };
  }
}
