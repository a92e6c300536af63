import { env } from 'node:process';
import { DOMAIN, hostSpec, topology, type HostSpec, type Topology } from '../topology.js';

/** The lab whose control planes are kubeadm's: a kubelet with static pods, etcd beside each apiserver. */
export const KUBEADM: Topology = topology({
  flavour: 'kubeadm',
  dir: env['CERTROLL_KUBEADM_LAB_DIR'] ?? '/var/lib/certroll-lab-kubeadm',
  network: { bridge: 'certroll1', gateway: '10.77.1.1', prefix: 24, subnet: '10.77.1.0/24' },
  apiName: `api-kubeadm.${DOMAIN}`,
  controlPlanes: [
    hostSpec('kubeadm1001', '10.77.1.11', 'control-plane', 'ka1001'),
    hostSpec('kubeadm1002', '10.77.1.12', 'control-plane', 'ka1002'),
    hostSpec('kubeadm1003', '10.77.1.13', 'control-plane', 'ka1003'),
  ],
  workers: [hostSpec('worker1001', '10.77.1.14', 'worker', 'wk1001')],
  loadBalancer: hostSpec('lb1002', '10.77.1.20', 'load-balancer', 'lb1002'),
  cgroup: 'certroll-lab-kubeadm',
});

/** Hosts with a kubelet. */
export const NODES: readonly HostSpec[] = [...KUBEADM.controlPlanes, ...KUBEADM.workers];

export const SERVICE_SUBNET = '10.96.0.0/16';
export const POD_SUBNET = '10.78.0.0/16';

/** The part of the pods' subnet that a node gives addresses of. Its third byte is the last of the node's own. */
export const podSubnetOf = (host: HostSpec): string => `10.78.${host.address.split('.')[3] ?? ''}.0/24`;

/** Folder of images and containers: overlays of its own, which do not go on an overlay. */
export const CONTAINERD_FOLDER = '/var/lib/containerd';

export const MANIFESTS = '/etc/kubernetes/manifests';
export const KUBELET_CLIENT = '/var/lib/kubelet/pki/kubelet-client-current.pem';
