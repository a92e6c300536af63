import { CertrollError, EXIT } from '../../../src/core/errors.js';
import type { HeldLock, Mutex, MutexOptions, Store } from '../../../src/etcd/store.js';
import type { SimCluster } from './cluster.js';
import type { Actor } from './scheduler.js';

type Ask = <T>(answer: () => T) => Promise<T>;

export interface StoreOptions {
  readonly cluster: SimCluster;
  readonly actor: Actor;
  /** How likely etcd loses its quorum for a while with a request. */
  readonly downChance: number;
  /** A call through a door: faults befall it. */
  readonly call: Ask;
  /** Lets the others have their turn. */
  readonly turn: () => Promise<void>;
}

const mutex = (
  name: string,
  options: MutexOptions,
  ask: Ask,
  { cluster, actor, turn }: StoreOptions,
): Mutex => ({
  acquire: async (): Promise<HeldLock> => {
    const until = cluster.now + options.waitMs;
    const lease = await ask(() => cluster.grant(name, actor, JSON.stringify(options.holder)));
    const give = (): void => void cluster.leases.delete(lease.key);
    const assertHeld = (): void => {
      if (cluster.leftMs(lease) > 0) return;
      throw new CertrollError(`the lock ${name} was lost`, { code: 'lock.lost' });
    };
    while (cluster.holder(name) !== lease) {
      await turn();
      if (cluster.now > until) {
        give();
        throw new CertrollError(`the lock ${name} was not had`, {
          code: 'lock.timeout',
          exit: EXIT.locked,
        });
      }
      assertHeld();
    }
    return {
      signal: lease.lost.signal,
      key: lease.key,
      createRevision: String(lease.order),
      assertHeld,
      leftMs: () => cluster.leftMs(lease),
      recheck: async () => {
        const isOurs = await ask(() => cluster.holder(name) === lease);
        if (!isOurs) throw new CertrollError(`the lock ${name} was lost`, { code: 'lock.lost' });
      },
      release: async () => {
        // As in the real one: what cannot be given back runs out.
        lease.isGivenUp = true;
        await ask(give).catch(() => undefined);
      },
    };
  },
});

/** The etcd of a simulated cluster, and the locks in it, as one run meets them. */
export const simStore = (given: StoreOptions): Store => {
  const { cluster, downChance, call } = given;
  const ask = async <T>(answer: () => T): Promise<T> =>
    call(() => {
      if (cluster.random.chance(downChance))
        cluster.etcdDownUntil = cluster.now + cluster.random.below(60_000);
      if (cluster.etcdIsDown) throw new CertrollError('etcd has no quorum', { code: 'etcd.no-quorum' });
      return answer();
    });
  return {
    endpoints: ['https://etcd'],
    list: async (prefix) =>
      ask(
        () =>
          new Map(
            [...cluster.etcd]
              .filter(([key]) => key.startsWith(prefix))
              .map(([key, { value, revision }]) => [key, { value, modRevision: String(revision) }]),
          ),
      ),
    put: async (key, value, conditions) =>
      ask(() => {
        const held = conditions?.whileHeld;
        if (held && !cluster.leases.has(held.key))
          throw new CertrollError('the lock of this run is gone', { code: 'lock.lost' });
        cluster.putValue(key, value);
      }),
    delete: async (key) => ask(() => void cluster.etcd.delete(key)),
    checkQuorum: async () => ask(() => undefined),
    mutex: (name, options) => mutex(name, options, ask, given),
    lockHolders: async () => ask(() => []),
    close: () => Promise.resolve(),
  };
};
