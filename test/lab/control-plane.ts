import type { HostFile } from './files.js';
import { keyFile } from './files.js';
import { kubeconfig } from './kubeconfig.js';
import { createLeaf, readPair, type Pair } from './pki.js';
import {
  API_NAME,
  API_PORT,
  API_SERVER_NAME,
  CONTROL_PLANES,
  ISSUER,
  LOAD_BALANCER,
  PKI,
  SA_FILES,
  type HostSpec,
} from './settings.js';

const ETCD_PKI = `${PKI}/etcd`;
const CLUSTER_SERVICE_IP = '10.96.0.1';

interface HostCertificates {
  readonly apiserver: Pair;
  readonly kubeletClient: Pair;
  readonly frontProxy: Pair;
  readonly etcdClient: Pair;
  readonly etcdServer: Pair;
  readonly etcdPeer: Pair;
  readonly controllerManager: Pair;
  readonly admin: Pair;
}

const createCertificates = async (host: HostSpec): Promise<HostCertificates> => {
  const name = (what: string): string => `${host.name}-${what}`;
  const own = [host.fqdn, host.name, host.address];
  const both = ['serverAuth', 'clientAuth'] as const;
  const service = [
    'kubernetes',
    'kubernetes.default',
    API_SERVER_NAME,
    `${API_SERVER_NAME}.cluster.local`,
    CLUSTER_SERVICE_IP,
  ];
  const client = (ca: string, what: string, commonName: string, organization?: string): Promise<Pair> =>
    createLeaf({
      ca,
      name: name(what),
      commonName,
      ...(organization === undefined ? {} : { organization }),
      usage: ['clientAuth'],
    });
  const [apiserver, kubeletClient, frontProxy, etcdClient, etcdServer, etcdPeer, controllerManager, admin] =
    await Promise.all([
      createLeaf({
        ...{ ca: 'kube-ca', name: name('apiserver'), commonName: 'kube-apiserver', usage: ['serverAuth'] },
        sans: [...own, API_NAME, LOAD_BALANCER.address, ...service],
      }),
      client('kube-ca', 'apiserver-kubelet-client', 'kube-apiserver-kubelet-client', 'system:masters'),
      client('front-proxy-ca', 'front-proxy-client', 'front-proxy-client'),
      client('etcd-ca', 'apiserver-etcd-client', `kube-apiserver-etcd-client.${host.name}`),
      createLeaf({
        ca: 'etcd-ca',
        name: name('etcd-server'),
        commonName: host.fqdn,
        usage: both,
        sans: [...own, 'localhost', '127.0.0.1'],
      }),
      createLeaf({ ca: 'etcd-ca', name: name('etcd-peer'), commonName: host.fqdn, usage: both, sans: own }),
      client('kube-ca', 'controller-manager', 'system:kube-controller-manager'),
      client('kube-ca', 'admin', `kubernetes-admin.${host.name}`, 'system:masters'),
    ]);
  return { apiserver, kubeletClient, frontProxy, etcdClient, etcdServer, etcdPeer, controllerManager, admin };
};

/** The members, the host's own one first: kube-apiserver asks it as long as it answers. */
const etcdServers = (host: HostSpec): string =>
  [host, ...CONTROL_PLANES.filter((each) => each !== host)]
    .map((each) => `https://${each.address}:2379`)
    .join(',');

const apiserverFlags = (host: HostSpec): string[] => [
  `--advertise-address=${host.address}`,
  `--bind-address=${host.address}`,
  `--secure-port=${API_PORT}`,
  `--etcd-servers=${etcdServers(host)}`,
  `--etcd-cafile=${ETCD_PKI}/ca.crt`,
  `--etcd-certfile=${PKI}/apiserver-etcd-client.crt`,
  `--etcd-keyfile=${PKI}/apiserver-etcd-client.key`,
  `--client-ca-file=${PKI}/ca.crt`,
  `--tls-cert-file=${PKI}/apiserver.crt`,
  `--tls-private-key-file=${PKI}/apiserver.key`,
  `--kubelet-client-certificate=${PKI}/apiserver-kubelet-client.crt`,
  `--kubelet-client-key=${PKI}/apiserver-kubelet-client.key`,
  `--service-account-issuer=${ISSUER}`,
  `--service-account-signing-key-file=${SA_FILES.key}`,
  `--service-account-key-file=${SA_FILES.certificate}`,
  `--service-account-key-file=${SA_FILES.bundle}`,
  '--authorization-mode=Node,RBAC',
  '--enable-admission-plugins=NodeRestriction',
  '--service-cluster-ip-range=10.96.0.0/16',
  `--requestheader-client-ca-file=${PKI}/front-proxy-ca.crt`,
  '--requestheader-allowed-names=front-proxy-client',
  '--requestheader-username-headers=X-Remote-User',
  '--requestheader-group-headers=X-Remote-Group',
  '--requestheader-extra-headers-prefix=X-Remote-Extra-',
  `--proxy-client-cert-file=${PKI}/front-proxy-client.crt`,
  `--proxy-client-key-file=${PKI}/front-proxy-client.key`,
  // On SIGTERM /readyz fails at once, while everything else is answered for another 2 s: long enough for
  // haproxy to send new connections elsewhere. After that, requests on old connections get a 429 that says
  // when to come again, rather than a reset.
  '--shutdown-delay-duration=2s',
  '--shutdown-send-retry-after=true',
];

const controllerManagerFlags = (): string[] => [
  '--bind-address=127.0.0.1',
  '--kubeconfig=/etc/kubernetes/controller-manager.conf',
  '--authentication-kubeconfig=/etc/kubernetes/controller-manager.conf',
  '--authorization-kubeconfig=/etc/kubernetes/controller-manager.conf',
  `--client-ca-file=${PKI}/ca.crt`,
  `--requestheader-client-ca-file=${PKI}/front-proxy-ca.crt`,
  `--root-ca-file=${PKI}/ca.crt`,
  `--cluster-signing-cert-file=${PKI}/ca.crt`,
  `--cluster-signing-key-file=${PKI}/ca.key`,
  `--service-account-private-key-file=${SA_FILES.key}`,
  '--use-service-account-credentials=true',
  '--leader-elect=true',
];

const etcdFlags = (host: HostSpec): string[] => [
  `--name=${host.name}`,
  '--data-dir=/var/lib/etcd/member-data',
  `--listen-client-urls=https://${host.address}:2379`,
  `--advertise-client-urls=https://${host.address}:2379`,
  `--listen-peer-urls=https://${host.address}:2380`,
  `--initial-advertise-peer-urls=https://${host.address}:2380`,
  `--initial-cluster=${CONTROL_PLANES.map((each) => `${each.name}=https://${each.address}:2380`).join(',')}`,
  '--initial-cluster-state=new',
  '--client-cert-auth=true',
  `--trusted-ca-file=${ETCD_PKI}/ca.crt`,
  `--cert-file=${ETCD_PKI}/server.crt`,
  `--key-file=${ETCD_PKI}/server.key`,
  '--peer-client-cert-auth=true',
  `--peer-trusted-ca-file=${ETCD_PKI}/ca.crt`,
  `--peer-cert-file=${ETCD_PKI}/peer.crt`,
  `--peer-key-file=${ETCD_PKI}/peer.key`,
];

/** As Debian's and Wikimedia's packages do it: the flags stand in a file beside the unit. */
const flagsFile = (service: string, flags: readonly string[]): HostFile => ({
  path: `/etc/default/${service}`,
  content: `DAEMON_ARGS="${flags.join(' \\\n  ')}"\n`,
});

const unit = (service: string, lines: readonly string[]): HostFile => ({
  path: `/etc/systemd/system/${service}.service`,
  content: [
    '[Unit]',
    `Description=${service}`,
    'StartLimitIntervalSec=0',
    ...lines,
    `EnvironmentFile=/etc/default/${service}`,
    `ExecStart=/usr/local/bin/${service} $DAEMON_ARGS`,
    'LimitNOFILE=65536',
    '',
    '[Install]',
    'WantedBy=multi-user.target',
    '',
  ].join('\n'),
});

const service = (type: string, user: string): string[] => [
  '[Service]',
  `Type=${type}`,
  `User=${user}`,
  `Group=${user}`,
];

const units = (): HostFile[] => [
  unit('etcd', [
    'After=lab-address.service',
    ...service('notify', 'etcd'),
    'Restart=always',
    'RestartSec=1',
    'TimeoutStartSec=120',
  ]),
  unit('kube-apiserver', [
    'Wants=etcd.service',
    'After=lab-address.service etcd.service',
    ...service('notify', 'kube'),
    ...['Restart=always', 'RestartSec=1', 'TimeoutStartSec=120', 'TimeoutStopSec=60'],
  ]),
  unit('kube-controller-manager', [
    'After=kube-apiserver.service',
    ...service('simple', 'kube'),
    ...['Restart=always', 'RestartSec=2'],
  ]),
];

/** Every file of a control plane, but for the keys and certificates of its service accounts. */
export const controlPlaneFiles = async (host: HostSpec): Promise<HostFile[]> => {
  const certificates = await createCertificates(host);
  const [ca, frontProxyCa, etcdCa] = await Promise.all([
    readPair('kube-ca'),
    readPair('front-proxy-ca'),
    readPair('etcd-ca'),
  ]);
  const pair = (path: string, { cert, key }: Pair, user: 'kube' | 'etcd'): HostFile[] => [
    { path: `${path}.crt`, content: cert },
    keyFile(`${path}.key`, key, user),
  ];
  const server = `https://${host.address}:${API_PORT}`;
  return [
    ...pair(`${PKI}/ca`, ca, 'kube'),
    { path: `${PKI}/front-proxy-ca.crt`, content: frontProxyCa.cert },
    { path: `${ETCD_PKI}/ca.crt`, content: etcdCa.cert },
    ...pair(`${PKI}/apiserver`, certificates.apiserver, 'kube'),
    ...pair(`${PKI}/apiserver-kubelet-client`, certificates.kubeletClient, 'kube'),
    ...pair(`${PKI}/apiserver-etcd-client`, certificates.etcdClient, 'kube'),
    ...pair(`${PKI}/front-proxy-client`, certificates.frontProxy, 'kube'),
    ...pair(`${ETCD_PKI}/server`, certificates.etcdServer, 'etcd'),
    ...pair(`${ETCD_PKI}/peer`, certificates.etcdPeer, 'etcd'),
    keyFile(
      '/etc/kubernetes/controller-manager.conf',
      kubeconfig(server, ca.cert, certificates.controllerManager),
      'kube',
    ),
    {
      ...keyFile('/etc/kubernetes/admin.conf', kubeconfig(server, ca.cert, certificates.admin), 'root'),
      mode: 0o600,
    },
    flagsFile('etcd', etcdFlags(host)),
    flagsFile('kube-apiserver', apiserverFlags(host)),
    flagsFile('kube-controller-manager', controllerManagerFlags()),
    ...units(),
  ];
};

export const CONTROL_PLANE_UNITS = [
  'etcd.service',
  'kube-apiserver.service',
  'kube-controller-manager.service',
] as const;
