import type { Consumer } from '../pem/consumers.js';

/** The programs of a cluster that use keys and certificates. */
export const PROGRAMS = [
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'etcd',
  'kubelet',
  'kube-proxy',
] as const;

/**
 * What uses keys and certificates: the programs, and kubeadm, which stands for the files that it lays down for people and
 * for probes, and that no process keeps open.
 */
export const COMPONENTS = [...PROGRAMS, 'kubeadm'] as const;
export type Component = (typeof COMPONENTS)[number];

/** Where certificates are shown and checked; every presenter of a channel must be trusted by every verifier of it. */
export type Channel =
  | 'apiserver-serving'
  | 'apiserver-client'
  | 'front-proxy'
  | 'etcd-server'
  | 'etcd-client'
  | 'etcd-peer'
  | 'kubelet-serving'
  | 'kubelet-client';

/**
 * What a file is to its reader. `issuer` is a certificate that signs others, `other` is read whatever is in it.
 */
export type Kind =
  | 'certificate'
  | 'key'
  | 'authorities'
  | 'issuer'
  | 'signing-key'
  | 'verification-keys'
  | 'kubeconfig'
  | 'other';

/** live: read again by itself; restart: read when the process starts. */
export type Reload = 'live' | 'restart';

/** One flag (or key of a configuration) that names a file. */
export interface Input {
  readonly flag: string;
  /** What the file is for, in words. */
  readonly role: string;
  readonly kind: Kind;
  /** Of authorities: by whose rules they are read. */
  readonly parser?: Consumer & ('kube-ca' | 'etcd-ca');
  readonly reload: Reload;
  /** Where the rule about reloading was read. */
  readonly source: string;
  /** The flag that names the private key of this certificate. */
  readonly key?: string;
  readonly presents?: Channel;
  readonly verifies?: Channel;
  /** Repeated flags, all of which count. */
  readonly isRepeated?: boolean;
  /** Where it lies when no flag names it. */
  readonly path?: string;
}

const DYNAMIC = 'k8s.io/apiserver pkg/server/dynamiccertificates';
const TRANSPORT = 'client-go transport/cert_rotation.go';
const AT_START = 'client-go, read once (ClientsAllowCARotation is 1.36)';
const ETCD = 'etcd client/pkg/transport/listener.go';
const TOKENS = 'kubernetes pkg/kubeapiserver/options/authentication.go';

const key = (flag: string, role: string, reload: Reload, source: string): Input => ({
  ...{ flag, role, kind: 'key', reload, source },
});

/** The files of every server that is built on k8s.io/apiserver. */
const serving = (presents?: Channel, verifies?: Channel): readonly Input[] => [
  {
    ...{ flag: 'tls-cert-file', role: 'serving certificate', kind: 'certificate', reload: 'live' },
    ...{ source: `${DYNAMIC}/dynamic_serving_content.go`, key: 'tls-private-key-file' },
    ...(presents && { presents }),
  },
  key('tls-private-key-file', 'serving key', 'live', `${DYNAMIC}/dynamic_serving_content.go`),
  {
    ...{ flag: 'client-ca-file', role: 'client authorities', kind: 'authorities', parser: 'kube-ca' },
    ...{ reload: 'live', source: `${DYNAMIC}/dynamic_cafile_content.go` },
    ...(verifies && { verifies }),
  },
];

const requestHeader = (verifies?: Channel): Input => ({
  ...{ flag: 'requestheader-client-ca-file', role: 'front-proxy authorities', kind: 'authorities' },
  ...{ parser: 'kube-ca', reload: 'live', source: `${DYNAMIC}/dynamic_cafile_content.go` },
  ...(verifies && { verifies }),
});

const kubeconfig = (flag: string): Input => ({
  ...{ flag, role: 'kubeconfig', kind: 'kubeconfig', reload: 'restart', source: AT_START },
});

const other = (flag: string, role: string): Input => ({
  ...{ flag, role, kind: 'other', reload: 'restart', source: 'read at start' },
});

/**
 * Which flags of which program name files, what those are for, and whether the program reads them again by itself. Defaults of
 * Kubernetes 1.20 and later; what is served is looked at besides, so that a wrong line here cannot hide a stale pair.
 */
export const INPUTS: Readonly<Record<Component, readonly Input[]>> = {
  'kube-apiserver': [
    ...serving('apiserver-serving', 'apiserver-client'),
    requestHeader('front-proxy'),
    {
      ...{ flag: 'proxy-client-cert-file', role: 'front-proxy client certificate', kind: 'certificate' },
      ...{ reload: 'live', source: 'kube-aggregator pkg/apiserver', key: 'proxy-client-key-file' },
      presents: 'front-proxy',
    },
    key('proxy-client-key-file', 'front-proxy client key', 'live', 'kube-aggregator pkg/apiserver'),
    {
      ...{ flag: 'kubelet-client-certificate', role: 'kubelet client certificate', kind: 'certificate' },
      ...{ reload: 'live', source: TRANSPORT, key: 'kubelet-client-key', presents: 'kubelet-client' },
    },
    key('kubelet-client-key', 'kubelet client key', 'live', TRANSPORT),
    {
      ...{ flag: 'kubelet-certificate-authority', role: 'kubelet authorities', kind: 'authorities' },
      ...{ parser: 'kube-ca', reload: 'restart', source: AT_START, verifies: 'kubelet-serving' },
    },
    {
      ...{ flag: 'etcd-cafile', role: 'etcd authorities', kind: 'authorities', parser: 'etcd-ca' },
      ...{ reload: 'restart', source: 'apiserver pkg/storage/storagebackend/factory/etcd3.go' },
      verifies: 'etcd-server',
    },
    {
      ...{ flag: 'etcd-certfile', role: 'etcd client certificate', kind: 'certificate', reload: 'live' },
      ...{ source: ETCD, key: 'etcd-keyfile', presents: 'etcd-client' },
    },
    key('etcd-keyfile', 'etcd client key', 'live', ETCD),
    {
      ...{ flag: 'service-account-signing-key-file', role: 'token signing key', kind: 'signing-key' },
      ...{ reload: 'restart', source: TOKENS },
    },
    {
      ...{ flag: 'service-account-key-file', role: 'token verification keys', kind: 'verification-keys' },
      ...{ reload: 'restart', source: TOKENS, isRepeated: true },
    },
    other('encryption-provider-config', 'encryption configuration'),
    other('audit-policy-file', 'audit policy'),
    other('admission-control-config-file', 'admission configuration'),
    other('egress-selector-config-file', 'egress configuration'),
  ],
  'kube-controller-manager': [
    ...serving(),
    requestHeader(),
    {
      ...{ flag: 'root-ca-file', role: 'authorities handed to pods', kind: 'authorities', parser: 'kube-ca' },
      ...{ reload: 'restart', source: 'kubernetes cmd/kube-controller-manager/app/controllermanager.go' },
      verifies: 'apiserver-serving',
    },
    {
      ...{ flag: 'cluster-signing-cert-file', role: 'signing certificate', kind: 'issuer', reload: 'live' },
      ...{ source: 'kubernetes pkg/controller/certificates/signer/ca_provider.go' },
      ...{ key: 'cluster-signing-key-file', presents: 'apiserver-client' },
    },
    key('cluster-signing-key-file', 'signing certificate key', 'live', 'ca_provider.go'),
    {
      ...{ flag: 'service-account-private-key-file', role: 'token signing key', kind: 'signing-key' },
      ...{ reload: 'restart', source: 'kubernetes cmd/kube-controller-manager/app/controllermanager.go' },
    },
    ...['kubeconfig', 'authentication-kubeconfig', 'authorization-kubeconfig'].map(kubeconfig),
  ],
  'kube-scheduler': [
    ...serving(),
    requestHeader(),
    ...['kubeconfig', 'authentication-kubeconfig', 'authorization-kubeconfig'].map(kubeconfig),
  ],
  etcd: [
    {
      ...{ flag: 'cert-file', role: 'serving certificate', kind: 'certificate', reload: 'live' },
      ...{ source: ETCD, key: 'key-file', presents: 'etcd-server' },
    },
    key('key-file', 'serving key', 'live', ETCD),
    {
      ...{ flag: 'trusted-ca-file', role: 'client authorities', kind: 'authorities', parser: 'etcd-ca' },
      ...{ reload: 'restart', source: ETCD, verifies: 'etcd-client' },
    },
    {
      ...{ flag: 'peer-cert-file', role: 'peer certificate', kind: 'certificate', reload: 'live' },
      ...{ source: ETCD, key: 'peer-key-file', presents: 'etcd-peer' },
    },
    key('peer-key-file', 'peer key', 'live', ETCD),
    {
      ...{ flag: 'peer-trusted-ca-file', role: 'peer authorities', kind: 'authorities', parser: 'etcd-ca' },
      ...{ reload: 'restart', source: ETCD, verifies: 'etcd-peer' },
    },
  ],
  kubelet: [
    {
      ...{ flag: 'tls-cert-file', role: 'serving certificate', kind: 'certificate', reload: 'restart' },
      source: 'kubernetes pkg/kubelet/certificate (ReloadKubeletServerCertificateFile: 1.31, see k/k#133001)',
      ...{ key: 'tls-private-key-file', presents: 'kubelet-serving' },
    },
    key('tls-private-key-file', 'serving key', 'restart', 'kubernetes pkg/kubelet/certificate'),
    {
      ...{ flag: 'client-ca-file', role: 'client authorities', kind: 'authorities', parser: 'kube-ca' },
      ...{ reload: 'live', source: `${DYNAMIC}/dynamic_cafile_content.go`, verifies: 'kubelet-client' },
    },
    kubeconfig('kubeconfig'),
  ],
  'kube-proxy': [kubeconfig('kubeconfig')],
  // Where kubeadm puts what it renews and what no process runs with (cmd/kubeadm/app/constants).
  kubeadm: [
    { ...kubeconfig('admin'), path: '/etc/kubernetes/admin.conf' },
    { ...kubeconfig('super-admin'), path: '/etc/kubernetes/super-admin.conf' },
    {
      ...{ flag: 'healthcheck-client', role: 'client certificate of probes', kind: 'certificate' },
      ...{ reload: 'live', source: 'read by each probe', key: 'healthcheck-client-key' },
      ...{ presents: 'etcd-client', path: '/etc/kubernetes/pki/etcd/healthcheck-client.crt' },
    },
    {
      ...key('healthcheck-client-key', 'client key of probes', 'live', 'read by each probe'),
      path: '/etc/kubernetes/pki/etcd/healthcheck-client.key',
    },
  ],
};

/** Keys of configuration files that stand for a flag. */
export const CONFIG_KEYS: Readonly<Record<Component, Readonly<Record<string, string>>>> = {
  'kube-apiserver': {},
  'kube-controller-manager': {},
  'kube-scheduler': { 'clientConnection.kubeconfig': 'kubeconfig' },
  'kube-proxy': { 'clientConnection.kubeconfig': 'kubeconfig' },
  kubelet: {
    tlsCertFile: 'tls-cert-file',
    tlsPrivateKeyFile: 'tls-private-key-file',
    'authentication.x509.clientCAFile': 'client-ca-file',
    staticPodPath: 'pod-manifest-path',
    port: 'port',
    address: 'address',
  },
  kubeadm: {},
  etcd: {
    'client-transport-security.cert-file': 'cert-file',
    'client-transport-security.key-file': 'key-file',
    'client-transport-security.trusted-ca-file': 'trusted-ca-file',
    'peer-transport-security.cert-file': 'peer-cert-file',
    'peer-transport-security.key-file': 'peer-key-file',
    'peer-transport-security.trusted-ca-file': 'peer-trusted-ca-file',
    'listen-client-urls': 'listen-client-urls',
    'listen-peer-urls': 'listen-peer-urls',
    'advertise-client-urls': 'advertise-client-urls',
    'initial-advertise-peer-urls': 'initial-advertise-peer-urls',
  },
};

/** The flag that names a component's configuration file. */
export const CONFIG_FLAG: Readonly<Partial<Record<Component, string>>> = {
  'kube-scheduler': 'config',
  'kube-proxy': 'config',
  kubelet: 'config',
  etcd: 'config-file',
};
