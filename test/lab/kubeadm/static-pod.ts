import { readFile, readdir } from 'node:fs/promises';
import { basename } from 'node:path';
import type { HostSpec } from '../topology.js';
import { KUBEADM } from './settings.js';

/** A process of a static pod. Another container or start time is another process. */
export interface StaticPodProcess {
  /** As the host sees it. */
  readonly pid: number;
  /** Clock ticks since the machine's boot (field 22 of /proc/PID/stat). */
  readonly startTicks: number;
  readonly containerId: string;
}

const readOr = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');

/** The container that a process of that host is in, by its control groups as this machine sees them. */
const containerOf = (groups: string, host: string): string | undefined =>
  new RegExp(`/${KUBEADM.cgroup}/${host}/(?:\\S*/)?kubepods\\S*/([0-9a-f]{64})$`, 'm').exec(groups)?.[1];

/**
 * The processes of a program that run in pods of that host, looked at from outside: works on a host whose
 * kubelet or containerd is stopped.
 */
export const staticPod = async (host: HostSpec, program: string): Promise<readonly StaticPodProcess[]> => {
  const found: StaticPodProcess[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const [argv0 = ''] = (await readOr(`/proc/${name}/cmdline`)).split('\0');
    if (basename(argv0) !== program) continue;
    const containerId = containerOf(await readOr(`/proc/${name}/cgroup`), host.name);
    // The pids of a process, from the outermost world to its own: the host's is the second.
    const [, pids = ''] = /^NSpid:\s+(.*)$/m.exec(await readOr(`/proc/${name}/status`)) ?? [];
    const pid = Number(pids.split(/\s+/)[1]);
    const stat = await readOr(`/proc/${name}/stat`);
    const startTicks = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);
    if (containerId !== undefined && pid > 0) found.push({ pid, startTicks, containerId });
  }
  return found;
};
