import { CertrollError } from '../../core/errors.js';
import { judgeTlsFailure } from '../../doctor/advice.js';
import { ok, warning, type Verdict } from '../../doctor/check.js';
import type { Checklist } from '../../doctor/checklist.js';
import type { LockHolder, Store } from '../../etcd/store.js';
import type { DoctorDoors } from './doors.js';

/** A revision that no key ever has (the largest there is), so that a write that is made to depend on it never takes place. */
const NEVER = '9223372036854775807';

/**
 * Whether this user may write below a prefix: a transaction whose condition never holds changes nothing, and etcd looks at
 * the rights of both of its branches before (etcd server/auth, checkTxnAuth). Throws `etcd.permission` when it may not.
 */
const checkMayWrite = async (store: Store, prefix: string): Promise<void> => {
  try {
    await store.put(`${prefix}/doctor`, '', { expectRevision: NEVER });
  } catch (thrown) {
    if (thrown instanceof CertrollError && thrown.code === 'etcd.conflict') return;
    throw thrown;
  }
};

const withStore = async <T>(
  endpoints: readonly string[],
  doors: DoctorDoors,
  use: (store: Store) => Promise<T>,
): Promise<T> => {
  const store = await doors.store(endpoints);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
};

const checkMember = async (endpoint: string, doors: DoctorDoors): Promise<Verdict> => {
  try {
    await withStore([endpoint], doors, async (store) => store.checkQuorum());
  } catch (thrown) {
    if (!(thrown instanceof CertrollError)) throw thrown;
    // It answers: what this user may do is looked at by itself.
    if (thrown.code === 'etcd.permission') return ok('answers');
    if (thrown.code !== 'etcd.tls') throw thrown;
    const { serverName } = doors.cluster.etcd;
    const { hostname } = new URL(endpoint);
    return judgeTlsFailure(thrown.message, thrown.hint ?? '', {
      wanted: serverName ?? hostname.replace(/^\[|\]$/g, ''),
      setting: 'etcd.serverName',
      shown: await doors.shown(endpoint, serverName),
    });
  }
  return ok('answers through a majority');
};

const describe = ({ info, lease }: LockHolder): string => {
  const who = info ? `${info.owner} (run ${info.run})` : 'etcdctl or another tool';
  return lease ? `${who}, its lease has ${lease.remaining} s left` : who;
};

const judgeLock = (name: string, holders: readonly LockHolder[]): Verdict => {
  const stuck = holders.find(({ lease }) => lease === undefined);
  if (stuck)
    return warning(
      `${name} is held by a key without a lease, which ends by itself never: ${stuck.key}`,
      `When nothing that made it runs any more: etcdctl del '${stuck.key}'`,
    );
  const [holder, ...waiting] = holders;
  if (!holder) return ok(`${name} is free`);
  return ok(`${name} is held by ${describe(holder)}${waiting.length > 0 ? `; ${waiting.length} wait` : ''}`);
};

/** Each member by itself, with the client pair of the cluster file; then the rights on what certroll keeps there. */
export const checkEtcd = async (list: Checklist, doors: DoctorDoors): Promise<void> => {
  const { etcd, lock } = doors.cluster;
  const states: boolean[] = [];
  for (const endpoint of etcd.endpoints)
    states.push(
      await list.check({ id: 'etcd-member', subject: endpoint }, ['etcd-certificate'], async () =>
        checkMember(endpoint, doors),
      ),
    );
  // One that answers will do for these; which ones do not is said above.
  const after = states.includes(true) ? [] : (['etcd-member'] as const);
  const prefix = etcd.prefix.replace(/\/+$/, '');
  const all = async (use: (store: Store) => Promise<Verdict>): Promise<Verdict> =>
    withStore(etcd.endpoints, doors, use);
  await list.check('etcd-registry', after, async () =>
    all(async (store) => {
      const keys = await store.list(`${prefix}/`);
      await checkMayWrite(store, prefix);
      return ok(`${keys.size} keys below ${prefix}, may be read and written`);
    }),
  );
  await list.check('etcd-lock', after, async () =>
    all(async (store) => {
      const holders = await store.lockHolders(lock.name);
      await checkMayWrite(store, lock.name);
      return judgeLock(lock.name, holders);
    }),
  );
};
