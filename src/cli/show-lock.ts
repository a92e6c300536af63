import { parseDuration } from '../core/duration.js';
import { loadCluster } from '../cluster/load.js';
import { EXIT } from '../core/errors.js';
import { openStore } from '../etcd/connect.js';
import type { LockHolder } from '../etcd/store.js';
import { renderTable } from '../report/table.js';
import type { LockFlags } from './commands/lock.js';
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

/** `certroll lock show`. */
export const showLock = async (flags: LockFlags): Promise<number> => {
  const cluster = await loadCluster(flags.cluster);
  parseDuration(cluster.lock.ttl);
  const store = await openStore(cluster.etcd, cluster.baseDir);
  try {
    const holders = await store.lockHolders(cluster.lock.name);
    if (flags.json === true) print(JSON.stringify({ lock: cluster.lock.name, holders }));
    else if (holders.length === 0) print(`The lock ${cluster.lock.name} is free.`);
    else
      print(renderTable([['LOCK', 'OWNER', 'PID', 'RUN', 'SINCE', 'LEASE', 'REASON'], ...holders.map(row)]));
    return EXIT.done;
  } finally {
    await store.close();
  }
};
