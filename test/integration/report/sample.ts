import { createHash } from 'node:crypto';
import {
  auditReportSchema,
  type AuditReport,
  type CertificateReport,
  type ClusterReport,
  type FindingReport,
  type ItemReport,
} from '../../../src/audit/report.js';

export const AT = '2026-03-01T04:05:06.789Z';
const DAY_MS = 86_400_000;

const later = (days: number): string => new Date(Date.parse(AT) + days * DAY_MS).toISOString();
const digest = (text: string, encoding: 'hex' | 'base64url'): string =>
  createHash('sha256').update(text).digest(encoding);

/** A certificate that runs out in some days; the same name and days are the same certificate. */
const certificate = (name: string, days: number): CertificateReport => {
  const id = `${name} ${days}`;
  return {
    ...{ subject: `CN=${name}`, issuer: 'CN=kubernetes-ca, O=Example', isCa: name.endsWith('-ca') },
    ...{ notBefore: later(days - 365), notAfter: later(days) },
    serial: digest(id, 'hex').slice(0, 40).toUpperCase(),
    ...{ kid: digest(name, 'base64url'), sha256: digest(id, 'hex') },
  };
};

type Component = ItemReport['component'];

interface File {
  readonly component: Component;
  readonly role: string;
  readonly kind: ItemReport['kind'];
  readonly named: string;
  readonly path: string;
  /** Whose certificate is in it; `HOST` becomes the host's name. */
  readonly name?: string;
}

const PKI = '/etc/kubernetes/pki';
const file = (
  component: Component,
  role: string,
  kind: File['kind'],
  named: string,
  path: string,
  name?: string,
): File => ({ component, role, kind, named, path, ...(name !== undefined && { name }) });

/** The files of a worker node. */
const NODE: readonly File[] = [
  file(
    'kubelet',
    'client certificate',
    'certificate',
    'kubeconfig',
    '/var/lib/kubelet/pki/kubelet-client-current.pem',
    'system:node:HOST',
  ),
  file(
    'kubelet',
    'serving certificate',
    'certificate',
    '--tls-cert-file',
    '/var/lib/kubelet/pki/kubelet.crt',
    'HOST',
  ),
  file('kubelet', 'client authorities', 'authorities', '--client-ca-file', `${PKI}/ca.crt`, 'kubernetes-ca'),
  file(
    'kube-proxy',
    'apiserver authorities',
    'authorities',
    'kubeconfig',
    '/var/lib/kube-proxy/kubeconfig#certificate-authority-data',
    'kubernetes-ca',
  ),
];

/** What a control plane has besides. */
const CONTROL_PLANE: readonly File[] = [
  ...NODE,
  file(
    'kube-apiserver',
    'serving certificate',
    'certificate',
    '--tls-cert-file',
    `${PKI}/apiserver.crt`,
    'kube-apiserver HOST',
  ),
  file('kube-apiserver', 'serving key', 'key', '--tls-private-key-file', `${PKI}/apiserver.key`),
  file(
    'kube-apiserver',
    'client authorities',
    'authorities',
    '--client-ca-file',
    `${PKI}/ca.crt`,
    'kubernetes-ca',
  ),
  file(
    'kube-apiserver',
    'etcd client certificate',
    'certificate',
    '--etcd-certfile',
    `${PKI}/apiserver-etcd-client.crt`,
    'kube-apiserver-etcd-client HOST',
  ),
  file(
    'kube-apiserver',
    'token signing key',
    'signing-key',
    '--service-account-signing-key-file',
    `${PKI}/sa.key`,
  ),
  file(
    'kube-apiserver',
    'token verification keys',
    'verification-keys',
    '--service-account-key-file',
    `${PKI}/sa.pub`,
  ),
  file(
    'kube-controller-manager',
    'certificate that signs others',
    'issuer',
    '--cluster-signing-cert-file',
    `${PKI}/ca.crt`,
    'kubernetes-ca',
  ),
  file(
    'kube-controller-manager',
    'kubeconfig',
    'kubeconfig',
    '--kubeconfig',
    '/etc/kubernetes/controller-manager.conf',
  ),
  file('etcd', 'peer certificate', 'certificate', '--peer-cert-file', `${PKI}/etcd/peer.crt`, 'etcd HOST'),
  file('etcd', 'client authorities', 'authorities', '--trusted-ca-file', `${PKI}/etcd/ca.crt`, 'etcd-ca'),
];

/** Days that a certificate has left: some are past, some soon, authorities last long. */
const daysOf = (name: string, host: number): number =>
  name === 'etcd-ca'
    ? 340
    : name.endsWith('-ca')
      ? 3000
      : [-35, 12, 64, 200, 363, 500, 729, 900][(host * 3 + name.length) % 8]!;

const item = (each: File, host: string, at: number): ItemReport => {
  const { name, ...rest } = each;
  const days = name === undefined ? 0 : daysOf(name, at);
  const certificates = name === undefined ? [] : [certificate(name.replace('HOST', host), days)];
  const isMissing = each.kind === 'kubeconfig' && at === 1;
  const isStale = each.kind === 'certificate' && at % 5 === 1;
  const [onDisk] = certificates;
  return {
    ...{ host, pid: 1000 + at, reload: 'live', ...rest },
    onDisk: {
      ...{ state: isMissing ? 'absent' : 'present', mode: '0600', owner: 'root', group: 'root' },
      ...{ certificates, kids: each.kind === 'signing-key' ? [digest(host, 'base64url')] : [], problems: [] },
    },
    ...(each.role === 'serving certificate' &&
      onDisk && {
        served: {
          ...{ address: `${host}:6443`, authorities: [] },
          certificates: [isStale ? certificate(onDisk.subject.slice(3), days - 300) : onDisk],
        },
      }),
    loaded: isStale ? { state: 'stale', how: 'served' } : { state: 'same', how: 'start time' },
  };
};

const RULES: readonly (Omit<FindingReport, 'host' | 'subject'> & { readonly every: number })[] = [
  {
    ...{ rule: 'certificate-expiring', severity: 'warning', every: 3, component: 'kubelet' },
    text: 'the serving certificate (--tls-cert-file) expires in 12d (2026-03-13T04:05:06Z)',
    why: 'After that moment connections with it are refused.',
    action: 'Renew it while there is time; thresholds.renewBefore of the cluster file says when it is due.',
  },
  {
    ...{ rule: 'flags-changed', severity: 'info', every: 4, component: 'etcd' },
    text: 'etcd would start with other flags than it runs with: --peer-cert-file',
    why: 'The next start uses other files than the running process: what was checked in the one says nothing of the other.',
    action: 'Look at the unit and its drop-ins; audit again after the restart.',
  },
  {
    ...{ rule: 'certificate-expired', severity: 'critical', every: 6, component: 'kube-apiserver' },
    text: 'the serving certificate (--tls-cert-file) expired 35d ago (2026-01-25T04:05:06Z)',
    why: 'Whoever checks it refuses the connection, now or with the next one.',
    action: 'Renew it, then make its process load the new one.',
  },
  {
    ...{ rule: 'stale-in-memory', severity: 'warning', every: 5, component: 'kube-apiserver' },
    text: 'serves another serving certificate than lies on disk (serial 4A1F, on disk 7C22)',
    why: 'The process goes on with what it read before: what was renewed on disk has not taken effect, and a restart changes what it does.',
    action: 'Restart the process, one host at a time, once it is sure to start with the files as they are.',
  },
];

/** Findings as rules make them: of one rule some here, some there. */
const findingsOf = (hosts: readonly string[]): readonly FindingReport[] => [
  ...hosts.flatMap((host, at) =>
    RULES.filter(({ every }) => at % every === 0).map(({ every: _every, ...rule }) => ({
      ...{ ...rule, host, subject: `${PKI}/apiserver.crt` },
    })),
  ),
  {
    ...{ rule: 'csr-pending', severity: 'warning', subject: 'csr-8x2kq' },
    text: 'signing request csr-8x2kq of system:node:kubenode1007 has waited for 3h',
    why: 'Whoever made it waits for its certificate; a kubelet goes on with the old one until that expires.',
    action: 'kubectl get csr, then kubectl certificate approve or deny.',
  },
];

export interface Size {
  readonly controlPlanes: number;
  readonly nodes: number;
  /** Files of each node besides its own, to make a large report. */
  readonly extra?: number;
}

const extraFiles = (count: number): readonly File[] =>
  Array.from({ length: count }, (_, at) =>
    file('kubelet', `certificate of workload ${at}`, 'other', 'configuration', `/etc/workload/${at}/tls.crt`),
  );

/** A cluster as an audit reports it, with something of everything. */
export const sampleCluster = (
  name: string,
  { controlPlanes, nodes, extra = 0 }: Size,
  domain = 'prod.example.net',
): ClusterReport => {
  const names = (prefix: string, count: number): readonly string[] =>
    Array.from({ length: count }, (_, at) => `${prefix}${1001 + at}.${domain}`);
  const masters = names('kubemaster', controlPlanes);
  const all = [...masters, ...names('kubenode', nodes)];
  const files = [CONTROL_PLANE, [...NODE, ...extraFiles(extra)]];
  const kubelets = all.map((host) => `kubelet@${host}`);
  const apiservers = masters.map((host) => `kube-apiserver@${host}`);
  return {
    ...{ name, at: AT, renewBeforeMs: 30 * DAY_MS, notSeen: [], objects: [], findings: [...findingsOf(all)] },
    hosts: all.map((host, at) => ({
      ...{ name: host, role: at < controlPlanes ? 'control-plane' : 'node', clockOffsetMs: 3, processes: [] },
    })),
    items: all.flatMap((host, at) => files[at < controlPlanes ? 0 : 1]!.map((each) => item(each, host, at))),
    keys: masters.map((signer, at) => ({
      ...{ kid: digest(signer, 'base64url'), signers: [`kube-apiserver@${signer}`] },
      apiservers: masters.map((host, other) => ({
        ...{
          host,
          disk: 'yes',
          loaded: at === 0 && other === 1 ? 'no' : at === 1 && other === 2 ? 'unknown' : 'yes',
        },
      })),
    })),
    authorities: [
      {
        ...{ channel: 'apiserver-serving', name: 'CN=kubernetes-ca, O=Example', presenters: apiservers },
        kid: digest('kubernetes-ca', 'base64url'),
        verifiers: kubelets.map((process, at) => ({
          ...{ process, named: 'kubeconfig', disk: 'yes', loaded: at === 1 ? 'no' : 'yes' },
        })),
      },
      {
        ...{ channel: 'apiserver-client', name: 'CN=kubernetes-ca, O=Example', presenters: kubelets },
        verifiers: apiservers.map((process) => ({
          ...{ process, named: '--client-ca-file', disk: 'yes', loaded: 'unknown' },
        })),
      },
    ],
  };
};

/** Lengths that DNS allows: labels of 63 characters, 253 in all. */
const LONG = `${'a-very-long-label-'.repeat(4).slice(0, 63)}.${'x'.repeat(63)}.${'y'.repeat(63)}.example.net`;

/** What a script in a page would do; a test looks whether it was done. */
export const RAN = 'document.documentElement.dataset.ran = 1';

/** Every text that a host or a file can say, said by somebody who wants the page to do something. */
const hostile = (): ClusterReport => {
  const image = `<img src="x" onerror="${RAN}">`;
  const base = sampleCluster(`${image}'"&amp;`, { controlPlanes: 2, nodes: 1 });
  const bad = `"><script>${RAN}</script><style>*{display:none}</style>\u202etxt.exe\u001b[31m`;
  return {
    ...base,
    items: base.items.map((each, at) => ({
      ...{ ...each, host: at % 2 === 0 ? LONG : `${image}${at}`, path: `/etc/${bad}/'quoted'`, role: bad },
      onDisk: {
        ...each.onDisk,
        certificates: each.onDisk.certificates.map((found) => ({
          ...{ ...found, subject: `CN=${bad}`, serial: `" onclick="${RAN}`, notAfter: found.notAfter },
        })),
      },
    })),
    keys: base.keys.map((each) => ({ ...each, signers: [bad, LONG] })),
    authorities: base.authorities.map((each) => ({ ...each, name: bad, presenters: [LONG, bad] })),
    findings: base.findings.map((each) => ({
      ...{
        ...each,
        host: LONG,
        text: `${bad} ${image}`,
        why: `${each.why} <b>${bad}`,
        action: `javascript:${bad}`,
      },
    })),
  };
};

/** Several clusters: a usual one, another, one that lies, one that could not be read. */
export const sampleReport = (): AuditReport =>
  // What is not a report would prove nothing about the page.
  auditReportSchema.parse({
    ...{ version: 1, at: AT },
    clusters: [
      sampleCluster('prod-eqiad', { controlPlanes: 3, nodes: 6 }),
      sampleCluster('staging', { controlPlanes: 3, nodes: 4 }, 'staging.example.net'),
      hostile(),
      { ...sampleCluster('unread', { controlPlanes: 0, nodes: 0 }), keys: [], authorities: [] },
    ],
  });
