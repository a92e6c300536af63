import { API_PORT, VERSIONS } from '../settings.js';
import type { HostSpec } from '../topology.js';
import { KUBEADM, POD_SUBNET, SERVICE_SUBNET } from './settings.js';

/** Secrets with which hosts join: made anew for each cluster. */
export interface JoinSecrets {
  /** `abcdef.0123456789abcdef`. */
  readonly token: string;
  /** 32 bytes in hex, with which kubeadm encrypts the keys that it uploads for other control planes. */
  readonly certificateKey: string;
}

const ENDPOINT = `${KUBEADM.apiName}:${API_PORT}`;

const document = (kind: string, body: object): string =>
  JSON.stringify({ apiVersion: 'kubeadm.k8s.io/v1beta4', kind, ...body });

const nodeRegistration = (host: HostSpec): object => ({
  criSocket: 'unix:///run/containerd/containerd.sock',
  // Nothing to pull from: all images are there.
  imagePullPolicy: 'Never',
  kubeletExtraArgs: [{ name: 'node-ip', value: host.address }],
});

const localApi = (host: HostSpec): object => ({ advertiseAddress: host.address, bindPort: API_PORT });

/**
 * An apiserver that is told to end goes on answering for two seconds, long enough for haproxy to send new
 * connections elsewhere, and then tells those who still come to come again: the restart of one costs no request.
 */
const APISERVER_ARGS = [
  { name: 'shutdown-delay-duration', value: '2s' },
  { name: 'shutdown-send-retry-after', value: 'true' },
];

const clusterConfiguration = document('ClusterConfiguration', {
  clusterName: 'lab',
  kubernetesVersion: VERSIONS.kubernetes,
  controlPlaneEndpoint: ENDPOINT,
  networking: { serviceSubnet: SERVICE_SUBNET, podSubnet: POD_SUBNET },
  apiServer: {
    certSANs: [KUBEADM.loadBalancer.address, KUBEADM.loadBalancer.fqdn],
    extraArgs: APISERVER_ARGS,
  },
  dns: { disabled: true },
  proxy: { disabled: true },
});

const kubeletConfiguration = JSON.stringify({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  cgroupDriver: 'cgroupfs',
  failSwapOn: false,
  // The groups that this would limit are not the host's to limit.
  enforceNodeAllocatable: [],
});

/** What `kubeadm init` reads. YAML takes JSON. */
export const initConfig = (host: HostSpec, { token, certificateKey }: JoinSecrets): string =>
  [
    document('InitConfiguration', {
      bootstrapTokens: [{ token, ttl: '2h0m0s' }],
      certificateKey,
      localAPIEndpoint: localApi(host),
      nodeRegistration: nodeRegistration(host),
    }),
    clusterConfiguration,
    kubeletConfiguration,
    '',
  ].join('\n---\n');

/** What `kubeadm join` reads. `caHash` is `sha256:` and the hash of the authority's public key. */
export const joinConfig = (host: HostSpec, secrets: JoinSecrets, caHash: string): string =>
  document('JoinConfiguration', {
    discovery: {
      bootstrapToken: { token: secrets.token, apiServerEndpoint: ENDPOINT, caCertHashes: [caHash] },
    },
    nodeRegistration: nodeRegistration(host),
    ...(host.role === 'control-plane'
      ? { controlPlane: { localAPIEndpoint: localApi(host), certificateKey: secrets.certificateKey } }
      : {}),
  });
