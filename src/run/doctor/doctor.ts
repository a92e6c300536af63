import { judgeClocks } from '../../doctor/clock.js';
import { inOrder, type CheckGroup } from '../../doctor/check.js';
import { Checklist } from '../../doctor/checklist.js';
import type { DoctorReport } from '../../doctor/report.js';
import { parseDuration } from '../../core/duration.js';
import { fanOut } from '../../hosts/fan-out.js';
import { apiServer } from '../../kube/client.js';
import type { ApiTarget } from '../../kube/request.js';
import { checkApi, checkRights } from './api.js';
import { checkBastion } from './bastion.js';
import type { DoctorDoors } from './doors.js';
import { checkEtcd } from './etcd.js';
import { checkHost, type SeenOfHost } from './host.js';

export interface DoctorOptions {
  readonly now: () => Date;
  readonly progress: (text: string, host?: string) => void;
}

interface Looked extends SeenOfHost {
  readonly name: string;
  readonly role: 'control-plane' | 'node';
  readonly list: Checklist;
  readonly target: ApiTarget | undefined;
}

/** One host. The API is asked from here, so it is told even of a host that lets nobody in. */
const lookAt = async (
  name: string,
  role: Looked['role'],
  bastion: Checklist,
  doors: DoctorDoors,
): Promise<Looked> => {
  const list = new Checklist(bastion);
  let target: ApiTarget | undefined;
  const seen = await checkHost(list, name, role, doors, async () => {
    target = await checkApi(list, name, doors);
    return target && apiServer(target);
  });
  return { ...seen, name, role, list, target };
};

/** The clocks can be judged only beside each other. */
const addClocks = (bastion: Checklist, hosts: readonly Looked[], allowedMs: number): void => {
  const offsets = new Map(
    hosts.flatMap(({ name, clockOffsetMs }) =>
      clockOffsetMs === undefined ? [] : [[name, clockOffsetMs] as const],
    ),
  );
  const clocks = judgeClocks(offsets, allowedMs);
  bastion.add({ id: 'bastion-clock', ...clocks.bastion });
  for (const { name, list } of hosts) {
    const verdict = clocks.hosts.get(name);
    if (verdict) list.add({ id: 'clock', ...verdict });
  }
};

/**
 * Looks at everything that a run or an audit needs, from this machine to each host, etcd and the API, and says what would
 * keep them from their work. Changes nothing. A place that cannot be looked at hides no other.
 */
export const examine = async (doors: DoctorDoors, options: DoctorOptions): Promise<DoctorReport> => {
  const { now, progress } = options;
  const { cluster } = doors;
  const bastion = new Checklist();
  progress('looking at this machine');
  await checkBastion(bastion, doors, now());
  const all = [
    ...cluster.hosts.controlPlanes.map((name) => ({ name, role: 'control-plane' as const })),
    ...cluster.hosts.nodes.map((name) => ({ name, role: 'node' as const })),
  ];
  let done = 0;
  const looking = fanOut(
    all,
    async ({ name, role }) => {
      const looked = await lookAt(name, role, bastion, doors);
      done += 1;
      progress(`looked at ${done} of ${all.length} hosts of ${cluster.name}`);
      return looked;
    },
    // Whoever opens the hosts bounds how many there are at once.
    Infinity,
  );
  const etcd = new Checklist(bastion);
  const [hosts] = await Promise.all([looking, checkEtcd(etcd, doors)]);
  addClocks(bastion, hosts, parseDuration(cluster.thresholds.clockSkew));
  progress('asking what the user of the kubeconfig may do');
  const rights = new Checklist(bastion, ...hosts.map(({ list }) => list));
  await checkRights(rights, hosts.find(({ target }) => target)?.target, doors);
  const groups: readonly CheckGroup[] = [
    { kind: 'bastion', name: 'this machine', checks: inOrder(bastion.checks) },
    ...hosts.map(({ name, role, list }): CheckGroup => ({
      kind: 'host',
      name,
      role,
      checks: inOrder(list.checks),
    })),
    { kind: 'etcd', name: 'etcd', checks: etcd.checks },
    { kind: 'rights', name: 'rights in the API', checks: rights.checks },
  ];
  return { version: 1, cluster: cluster.name, at: now().toISOString(), groups };
};
