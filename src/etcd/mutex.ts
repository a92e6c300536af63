import { pause } from '../core/poll.js';
import { readQueue } from './holders.js';
import { Lease } from './lease.js';
import type { Members } from './members.js';
import { lockKey, positionOf, type OwnKey, type Position } from './queue.js';
import type { HeldLock, Mutex, MutexOptions } from './store.js';
import { waitForTurn } from './turn.js';
import { deletionOf } from './watch.js';

const REWATCH_MS = 1000;

/** etcd's own mutex over a cluster's members, key for key what `etcdctl lock NAME` uses. */
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
    const { ttl, waitMs, signal } = this.#options;
    const until = performance.now() + waitMs;
    const lease = await Lease.grant(this.#members, { ttl, lock: this.#name, ...(signal && { signal }) });
    try {
      const own = await this.#enqueue(lease);
      lease.confirmWith(async () => (await this.#position(own, (ttl * 1000) / 5)).state !== 'gone');
      await waitForTurn({
        members: this.#members,
        name: this.#name,
        own,
        lease,
        options: this.#options,
        until,
      });
      void this.#watchOver(own, lease);
      return this.#held(own, lease);
    } catch (thrown) {
      await lease.revoke();
      throw thrown;
    }
  }

  /** Puts the own key; one that an attempt without an answer has put is taken over. */
  async #enqueue(lease: Lease): Promise<OwnKey> {
    const key = lockKey(this.#name, lease.id);
    const bytes = Buffer.from(key);
    const value = Buffer.from(JSON.stringify(this.#options.holder));
    const { signal } = this.#options;
    const answer = await this.#members.call(
      `queue for the lock ${this.#name}`,
      async (client, call) =>
        client.kv.txn(
          {
            compare: [{ key: bytes, target: 'Create', create_revision: '0', result: 'Equal' }],
            success: [{ request_put: { key: bytes, value, lease: lease.id } }],
            failure: [{ request_range: { key: bytes } }],
          },
          call,
        ),
      signal && { signal },
    );
    if (answer.succeeded) return { key, createRevision: BigInt(answer.header.revision) };
    const existing = answer.responses[0]?.response_range.kvs[0];
    return { key, createRevision: BigInt(existing?.create_revision ?? '0') };
  }

  async #position(own: OwnKey, timeoutMs?: number): Promise<Position> {
    const settings = timeoutMs === undefined ? undefined : { timeoutMs, brief: true };
    return positionOf((await readQueue(this.#members, this.#name, settings)).keys, own);
  }

  /** Sees at once when the own key is deleted, as by `etcdctl lease revoke`; the keep-alives see it a while later. */
  async #watchOver(own: OwnKey, lease: Lease): Promise<void> {
    while (!lease.over.aborted) {
      if (await deletionOf(this.#members, own.key, own.createRevision + 1n, lease.over))
        lease.lose('its key was deleted from etcd');
      // A watch may end for reasons of the member's own.
      await pause(REWATCH_MS, lease.over).catch(() => undefined);
    }
  }

  #held(own: OwnKey, lease: Lease): HeldLock {
    return {
      signal: lease.lost,
      key: own.key,
      createRevision: String(own.createRevision),
      assertHeld: () => lease.assertAlive(),
      leftMs: () => lease.leftMs(),
      recheck: async () => {
        lease.assertAlive();
        const { state } = await this.#position(own);
        if (state !== 'holder')
          lease.lose(state === 'gone' ? 'its key is gone from etcd' : 'a key older than its own appeared');
        lease.assertAlive();
      },
      release: async () => lease.revoke(),
    };
  }
}
