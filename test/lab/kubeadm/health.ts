import { waitForControllers, waitForShared } from '../health.js';
import { KubeClient } from '../kube.js';
import type { Machine } from '../machine.js';
import type { HostSpec } from '../topology.js';
import { until } from '../wait.js';
import { KUBEADM } from './settings.js';

interface NodeStatus {
  readonly status: { readonly conditions: readonly { readonly type: string; readonly status: string }[] };
}

interface Lease {
  readonly spec: { readonly renewTime: string };
}

const read = async <T>(kube: KubeClient, path: string): Promise<T | undefined> => {
  const [{ address } = { address: '' }] = KUBEADM.controlPlanes;
  const answer = await kube.asAdmin(address, path);
  return answer.status === 200 ? (JSON.parse(answer.body) as T) : undefined;
};

/** True when the API calls the node ready, by what its kubelet last told. */
export const isNodeReady = async (kube: KubeClient, host: HostSpec): Promise<boolean> => {
  const node = await read<NodeStatus>(kube, `/api/v1/nodes/${host.name}`);
  return node?.status.conditions.find(({ type }) => type === 'Ready')?.status === 'True';
};

/** When the kubelet's unit came up, in seconds since 1970; NaN while it is not up. */
const kubeletSince = async (machine: Machine): Promise<number> => {
  const property = ['--property=ActiveEnterTimestamp', '--value', '--timestamp=unix'];
  const { stdout } = await machine.exec(['systemctl', 'show', ...property, 'kubelet.service']);
  return Number(stdout.trim().replace(/^@/, '') || 'NaN');
};

/** True when this kubelet, not one before it, has said that it lives: what the API says may be older. */
const hasReported = async (kube: KubeClient, machine: Machine): Promise<boolean> => {
  const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${machine.spec.name}`;
  const lease = await read<Lease>(kube, path);
  if (lease === undefined) return false;
  return Date.parse(lease.spec.renewTime) / 1000 > (await kubeletSince(machine));
};

/** Ports on which a host's other static pods tell how they are, to those on the host. */
const HEALTH_PORTS = { 'kube-controller-manager': 10257, 'kube-scheduler': 10259 } as const;

const isHealthy = async (machine: Machine, port: number): Promise<boolean> => {
  const url = `https://127.0.0.1:${port}/healthz`;
  return (await machine.exec(['curl', '--silent', '--insecure', '--max-time', '3', url])).stdout === 'ok';
};

/** Waits until every part of the lab works; at most `seconds` for each. */
export const waitForNodes = async (machines: readonly Machine[], seconds: number): Promise<void> => {
  const kube = await KubeClient.open({ bastion: KUBEADM.bastion });
  const nodes = machines.filter(({ spec }) => spec.role !== 'load-balancer');
  const controlPlanes = machines.filter(({ spec }) => spec.role === 'control-plane');
  await Promise.all([
    waitForShared(KUBEADM, kube, seconds),
    ...nodes.map((machine) =>
      until(
        `the node ${machine.spec.name} is ready`,
        seconds,
        async () => (await hasReported(kube, machine)) && (await isNodeReady(kube, machine.spec)),
      ),
    ),
    ...controlPlanes.flatMap((machine) =>
      Object.entries(HEALTH_PORTS).map(([program, port]) =>
        until(`${program} of ${machine.spec.name} is well`, seconds, () => isHealthy(machine, port)),
      ),
    ),
  ]);
  await waitForControllers(KUBEADM, kube, seconds);
};
