import { loadCluster } from '../cluster/load.js';
import { EXIT } from '../core/errors.js';
import { openStore } from '../etcd/connect.js';
import type { LockHolder } from '../etcd/store.js';
import { renderTable } from '../report/table.js';
import type { LockFlags } from './commands/lock.js';
import { applySettings } from '../run/doors.js';
import { runLockName } from '../run/run.js';
import { print } from './session.js';

const row = (holder: LockHolder, at: number): readonly string[] => {
  const { info, lease } = holder;
  return [
    at === 0 ? 'holds' : `waits ${at}`,
    info?.owner ?? '(no name: etcdctl lock writes none)',
    info ? String(info.pid) : '-',
    info?.run ?? '-',
    info?.since ?? '-',
    lease ? `${lease.remaining} of ${lease.granted} s` : 'gone',
    info?.reason ?? holder.key,
  ];
};

const shown = (name: string, holders: readonly LockHolder[]): string => {
  if (holders.length === 0) return `The lock ${name} is free.`;
  const header = [name, 'OWNER', 'PID', 'RUN', 'SINCE', 'LEASE', 'REASON'];
  return renderTable([header, ...holders.map(row)]);
};

/** `certroll lock show`: the lock of restarts, and the one that a whole run holds. */
export const showLock = async (flags: LockFlags): Promise<number> => {
  const cluster = await loadCluster(flags.cluster);
  const store = await openStore(cluster.etcd, cluster.baseDir);
  try {
    const names = [cluster.lock.name, runLockName(applySettings(cluster).registryPrefix, cluster.name)];
    const locks = await Promise.all(
      names.map(async (lock) => ({ lock, holders: await store.lockHolders(lock) })),
    );
    if (flags.json === true) print(JSON.stringify(locks));
    else print(locks.map(({ lock, holders }) => shown(lock, holders)).join('\n'));
    return EXIT.done;
  } finally {
    await store.close();
  }
};
