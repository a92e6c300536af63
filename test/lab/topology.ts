import { createHash } from 'node:crypto';
import { bastionPaths, type BastionPaths } from './bastion-paths.js';

export type Role = 'control-plane' | 'worker' | 'load-balancer';

export interface HostSpec {
  readonly name: string;
  readonly fqdn: string;
  readonly address: string;
  readonly role: Role;
  /** Name of the nspawn machine: short, since the host end of its network pair is named after it. */
  readonly machine: string;
  /** Made from the name, so that a host keeps its identity over restarts of the lab. */
  readonly machineId: string;
}

/** A bridge of the lab's own, on which nothing but the lab listens. */
export interface Network {
  readonly bridge: string;
  readonly gateway: string;
  readonly prefix: number;
  readonly subnet: string;
}

/** Which layout the hosts have: systemd units, or kubeadm's kubelet with static pods. */
export type Flavour = 'systemd' | 'kubeadm';

/** One lab: where it lives on this machine, its network, its hosts, and what its operator has. */
export interface Topology {
  readonly flavour: Flavour;
  /** Folder of everything but the cache: a real file system, since overlays need one. */
  readonly dir: string;
  readonly network: Network;
  /** The name under which clients reach the apiservers through haproxy. */
  readonly apiName: string;
  readonly controlPlanes: readonly HostSpec[];
  readonly workers: readonly HostSpec[];
  readonly loadBalancer: HostSpec;
  /** Parent of the hosts' control groups. */
  readonly cgroup: string;
  readonly bastion: BastionPaths;
}

export const DOMAIN = 'lab.example.net';

export const hostSpec = (name: string, address: string, role: Role, machine: string): HostSpec => ({
  name,
  fqdn: `${name}.${DOMAIN}`,
  address,
  role,
  machine,
  machineId: createHash('sha256').update(`certroll-lab ${name}`).digest('hex').slice(0, 32),
});

/** Adds what follows from the folder: where the operator's files are. */
export const topology = (parts: Omit<Topology, 'bastion'>): Topology => ({
  ...parts,
  bastion: bastionPaths(parts.dir),
});

/** Every host, the load balancer first. */
export const hostsOf = ({ loadBalancer, controlPlanes, workers }: Topology): readonly HostSpec[] => [
  loadBalancer,
  ...controlPlanes,
  ...workers,
];

/** The host of that name, short or full. Throws for a name that the lab does not have. */
export const hostIn = (lab: Topology, name: string): HostSpec => {
  const all = hostsOf(lab);
  const found = all.find((each) => each.name === name || each.fqdn === name);
  if (found) return found;
  throw new Error(`The lab has no host '${name}'. It has: ${all.map((each) => each.name).join(', ')}`);
};
