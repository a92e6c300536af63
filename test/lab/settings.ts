import { homedir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { DOMAIN, hostIn, hostsOf, hostSpec, topology, type HostSpec, type Topology } from './topology.js';

export type { HostSpec } from './topology.js';

/** What takes long to make and never changes: binaries by version, the base trees of the hosts. */
export const CACHE_DIR = join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'certroll-lab');

export const VERSIONS = { kubernetes: 'v1.34.4', etcd: 'v3.6.8', debian: 'bookworm' } as const;

export const API_PORT = 6443;
export const CFSSL_PORT = 8888;
/** The root that signs service-account certificates. multirootca takes letters, digits and _ in a label, no dashes. */
export const CFSSL_LABEL = 'service_accounts';
/** haproxy's own view of its servers, over plain HTTP. */
export const STATS_PORT = 8404;
export const ISSUER = 'https://kubernetes.default.svc.cluster.local';

/** The name that every apiserver's serving certificate carries, whatever address it is reached at. */
export const API_SERVER_NAME = 'kubernetes.default.svc';

/** The lab whose control planes are systemd units. */
export const SYSTEMD: Topology = topology({
  flavour: 'systemd',
  dir: env['CERTROLL_LAB_DIR'] ?? '/var/lib/certroll-lab',
  network: { bridge: 'certroll0', gateway: '10.77.0.1', prefix: 24, subnet: '10.77.0.0/24' },
  apiName: `api-int.${DOMAIN}`,
  controlPlanes: [
    hostSpec('kubemaster1001', '10.77.0.11', 'control-plane', 'km1001'),
    hostSpec('kubemaster1002', '10.77.0.12', 'control-plane', 'km1002'),
    hostSpec('kubemaster1003', '10.77.0.13', 'control-plane', 'km1003'),
  ],
  workers: [],
  loadBalancer: hostSpec('lb1001', '10.77.0.20', 'load-balancer', 'lb1001'),
  cgroup: 'certroll-lab',
});

export const LAB_DIR = SYSTEMD.dir;
export const NETWORK = SYSTEMD.network;
export const API_NAME = SYSTEMD.apiName;
export const BASTION = SYSTEMD.bastion;
export const CONTROL_PLANES = SYSTEMD.controlPlanes;
export const LOAD_BALANCER = SYSTEMD.loadBalancer;
export const ALL_HOSTS = hostsOf(SYSTEMD);

/** The host of that name, short or full. Throws for a name that the lab does not have. */
export const hostNamed = (name: string): HostSpec => hostIn(SYSTEMD, name);

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
