import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';

/** Where the lab's machines, logs and bastion folder live: a real file system, since overlays need one. */
export const LAB_DIR = env['CERTROLL_LAB_DIR'] ?? '/var/lib/certroll-lab';

/** What takes long to make and never changes: binaries by version, the base tree of the hosts. */
export const CACHE_DIR = join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'certroll-lab');

export const VERSIONS = { kubernetes: 'v1.34.4', etcd: 'v3.6.8', debian: 'bookworm' } as const;

/** The lab's network: a bridge of its own, on which nothing but the lab listens. */
export const NETWORK = {
  bridge: 'certroll0',
  gateway: '10.77.0.1',
  prefix: 24,
  subnet: '10.77.0.0/24',
} as const;

export const DOMAIN = 'lab.example.net';

/** The name under which clients reach the apiservers through haproxy. */
export const API_NAME = `api-int.${DOMAIN}`;
export const API_PORT = 6443;
export const CFSSL_PORT = 8888;
/** The root that signs service-account certificates. multirootca takes letters, digits and _ in a label, no dashes. */
export const CFSSL_LABEL = 'service_accounts';
/** haproxy's own view of its servers, over plain HTTP. */
export const STATS_PORT = 8404;
export const ISSUER = 'https://kubernetes.default.svc.cluster.local';

/** The name that every apiserver's serving certificate carries, whatever address it is reached at. */
export const API_SERVER_NAME = 'kubernetes.default.svc';

export interface HostSpec {
  readonly name: string;
  readonly fqdn: string;
  readonly address: string;
  readonly role: 'control-plane' | 'load-balancer';
  /** Name of the nspawn machine: short, since the host end of its network pair is named after it. */
  readonly machine: string;
  /** Made from the name, so that a host keeps its identity over restarts of the lab. */
  readonly machineId: string;
}

const host = (name: string, lastByte: number, role: HostSpec['role'], machine: string): HostSpec => ({
  name,
  fqdn: `${name}.${DOMAIN}`,
  address: `10.77.0.${lastByte}`,
  role,
  machine,
  machineId: createHash('sha256').update(`certroll-lab ${name}`).digest('hex').slice(0, 32),
});

export const CONTROL_PLANES: readonly HostSpec[] = [
  host('kubemaster1001', 11, 'control-plane', 'km1001'),
  host('kubemaster1002', 12, 'control-plane', 'km1002'),
  host('kubemaster1003', 13, 'control-plane', 'km1003'),
];

export const LOAD_BALANCER: HostSpec = host('lb1001', 20, 'load-balancer', 'lb1001');

export const ALL_HOSTS: readonly HostSpec[] = [LOAD_BALANCER, ...CONTROL_PLANES];

/** The host of that name, short or full. Throws for a name that the lab does not have. */
export const hostNamed = (name: string): HostSpec => {
  const found = ALL_HOSTS.find((each) => each.name === name || each.fqdn === name);
  if (found) return found;
  throw new Error(`The lab has no host '${name}'. It has: ${ALL_HOSTS.map((each) => each.name).join(', ')}`);
};

/** Users and groups made in the base tree; fixed numbers, so that files can be prepared from outside. */
export const IDS = { root: 0, kube: 920, etcd: 921, cfssl: 922, certroll: 1100, limited: 1101 } as const;
export type LabUser = keyof typeof IDS;

/** Password that sudo asks the user `limited` for. No host accepts passwords over SSH. */
export const LIMITED_PASSWORD = 'limited';

/** The service account that stands for calico in the lab: may read what it asks for. */
export const CLIENT_ACCOUNT = { namespace: 'kube-system', name: 'calico-node' } as const;

export const PKI = '/etc/kubernetes/pki';
export const SA_FILES = {
  key: `${PKI}/sa.key`,
  certificate: `${PKI}/sa.crt`,
  bundle: `${PKI}/sa-verification-keys.pem`,
} as const;
