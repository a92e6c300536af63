import { createPublicKey } from 'node:crypto';
import { DAY } from '../../support/pki.js';
import { CONTROL_PLANES, PKI, SA_FILES } from '../settings.js';
import type { Plant } from './plant.js';

/** `RULE SEVERITY HOST`, the host `-` where a finding is about none. */
export type Expected = `${string} ${'info' | 'warning' | 'critical'} ${string}`;

/** Something that is wrong, and all that an audit has to say of it. */
export interface Fault {
  readonly name: string;
  readonly plant: (plant: Plant) => Promise<void>;
  readonly expected: readonly Expected[];
  /** Who else tells of it, of those that look at files: kubeadm certs check-expiration, openssl x509 -enddate. */
  readonly peers?: readonly ('kubeadm' | 'openssl')[];
  /** Replacements in the cluster file. */
  readonly clusterFile?: readonly (readonly [RegExp, string])[];
}

const [CP1, CP2, CP3] = CONTROL_PLANES.map(({ name }) => name) as [string, string, string];
const in_ = (host: string): string => `${host}.lab.example.net`;
const [ONE, TWO, THREE] = [CP1, CP2, CP3].map(in_) as [string, string, string];
const KUBELET_CLIENT = `${PKI}/apiserver-kubelet-client`;
const PROXY_CLIENT = `${PKI}/front-proxy-client`;
const APISERVER = 'kube-apiserver.service';
const MANAGER = 'kube-controller-manager.service';
const inDays = (days: number): Date => new Date(Date.now() + days * DAY);

/** Dates of certificates. */
const DATES: readonly Fault[] = [
  {
    name: 'a client certificate with five days left',
    plant: async (plant) =>
      plant.pair(CP1, KUBELET_CLIENT, await plant.issue('kube-ca', 'expiring', { to: inDays(5) })),
    expected: [`certificate-expiring warning ${ONE}`],
    peers: ['kubeadm', 'openssl'],
  },
  {
    name: 'a client certificate that has expired',
    plant: async (plant) => {
      const dates = { from: inDays(-10), to: inDays(-1) };
      await plant.pair(CP1, PROXY_CLIENT, await plant.issue('front-proxy-ca', 'expired', dates));
    },
    expected: [`certificate-expired critical ${ONE}`],
    peers: ['kubeadm', 'openssl'],
  },
  {
    name: 'a client certificate that is valid from tomorrow on',
    plant: async (plant) => {
      const dates = { from: inDays(1), to: inDays(400) };
      await plant.pair(CP1, KUBELET_CLIENT, await plant.issue('kube-ca', 'early', dates));
    },
    expected: [`certificate-not-yet-valid critical ${ONE}`],
  },
  {
    name: 'certificates that apiservers made for themselves at their start, by an operator who renews more than three years ahead',
    // A process cannot be made to look old; the certificate that it shows lasts three years in this release.
    plant: () => Promise.resolve(),
    clusterFile: [
      [/restart: \{/, 'thresholds: { renewBefore: 27000h }\nrestart: {'],
      [/mode: per-host/, 'mode: per-host, ttl: 30000h'],
    ],
    expected: [ONE, TWO, THREE].map((host) => `apiserver-loopback-certificate warning ${host}` as const),
  },
];

/** Pairs, chains and names. */
const PAIRS: readonly Fault[] = [
  {
    name: 'a serving certificate of another key',
    plant: async (plant) => plant.write(CP1, `${PKI}/apiserver.crt`, (await plant.serving(CP1)).pem),
    expected: [`key-mismatch critical ${ONE}`],
  },
  {
    name: 'a client certificate for etcd from the wrong authority',
    plant: async (plant) =>
      plant.pair(CP1, `${PKI}/apiserver-etcd-client`, await plant.issue('kube-ca', 'stranger')),
    expected: [`chain-broken-on-disk critical ${ONE}`],
    peers: ['kubeadm'],
  },
  {
    name: 'a serving certificate without the address that its apiserver advertises',
    plant: async (plant) => {
      const without = `IP:${CONTROL_PLANES[0]?.address ?? ''}`;
      await plant.pair(CP1, `${PKI}/apiserver`, await plant.serving(CP1, { without }));
      await plant.restarted(CP1, APISERVER);
    },
    expected: [`san-missing warning ${ONE}`],
  },
  {
    name: 'one pair on two hosts',
    plant: async (plant) => {
      const pair = await plant.issue('front-proxy-ca', 'shared');
      for (const host of [CP1, CP2]) await plant.pair(host, PROXY_CLIENT, pair);
    },
    expected: ['serial-on-two-hosts info -'],
  },
  {
    name: 'two certificates with one serial of one authority',
    plant: async (plant) => {
      for (const host of [CP1, CP2]) {
        const pair = await plant.issue('kube-ca', `twin-${host}`, { serial: '4D' });
        await plant.pair(host, KUBELET_CLIENT, pair);
      }
    },
    expected: ['serial-on-two-hosts critical -'],
  },
  {
    name: 'a serving key that signs tokens as well',
    plant: async (plant) => {
      const key = await plant.read(CP1, SA_FILES.key);
      const keyFile = await plant.pki.write('signing.key', key);
      await plant.pair(CP1, `${PKI}/apiserver`, await plant.serving(CP1, { keyFile }));
      await plant.restarted(CP1, APISERVER);
    },
    expected: [`same-key-in-two-roles warning ${ONE}`],
  },
  {
    name: 'an authority for clients that vouches for the front proxy as well',
    plant: async (plant) => {
      const path = `${PKI}/front-proxy-ca.crt`;
      const both = (await plant.read(CP1, path)) + (await plant.read(CP1, `${PKI}/ca.crt`));
      await plant.write(CP1, path, both);
    },
    expected: [`requestheader-ca-is-client-ca warning ${ONE}`],
  },
  {
    name: 'a signing certificate with another one behind it',
    plant: async (plant) => {
      const path = `${PKI}/signing.crt`;
      const ca = await plant.read(CP1, `${PKI}/ca.crt`);
      await plant.add(CP1, path, ca);
      const flags = '/etc/default/kube-controller-manager';
      const turned = `sed -i s,--cluster-signing-cert-file=${PKI}/ca.crt,--cluster-signing-cert-file=${path}, ${flags}`;
      await plant.change(CP1, flags, turned);
      await plant.restarted(CP1, MANAGER);
      await plant.sh(CP1, `cat ${PKI}/front-proxy-ca.crt >>${path}`);
    },
    expected: [`signing-certificate-bundle critical ${ONE}`],
  },
];

/** Files: what is there, who reads it, what is lost of it. */
const FILES: readonly Fault[] = [
  {
    name: 'a key that its service cannot read any more',
    plant: (plant) =>
      plant.change(
        CP1,
        `${KUBELET_CLIENT}.key`,
        `chown root:root ${KUBELET_CLIENT}.key; chmod 0600 ${KUBELET_CLIENT}.key`,
      ),
    expected: [`unreadable-by-service critical ${ONE}`],
  },
  {
    name: 'a key that everybody can read',
    plant: (plant) => plant.change(CP1, `${KUBELET_CLIENT}.key`, `chmod 0644 ${KUBELET_CLIENT}.key`),
    expected: [`key-readable-by-others warning ${ONE}`],
  },
  {
    name: 'a bundle with a block that its readers pass over',
    plant: async (plant) => {
      const path = `${PKI}/front-proxy-ca.crt`;
      const other = (await plant.read(CP1, `${PKI}/ca.crt`)).replaceAll('CERTIFICATE', 'TRUSTED CERTIFICATE');
      await plant.write(CP1, path, (await plant.read(CP1, path)) + other);
    },
    // The apiserver loses it, and the controller-manager too.
    expected: [`pem-block-lost warning ${ONE}`, `pem-block-lost warning ${ONE}`],
  },
  {
    name: 'a key cut off in its middle',
    plant: async (plant) => {
      const key = await plant.read(CP1, `${PROXY_CLIENT}.key`);
      await plant.write(CP1, `${PROXY_CLIENT}.key`, key.slice(0, key.length / 2));
    },
    expected: [`pem-block-lost critical ${ONE}`],
    peers: ['kubeadm'],
  },
  {
    name: 'a certificate that is gone',
    plant: (plant) => plant.change(CP1, `${PROXY_CLIENT}.crt`, `rm ${PROXY_CLIENT}.crt`),
    expected: [`file-missing critical ${ONE}`],
    peers: ['kubeadm', 'openssl'],
  },
  {
    name: 'a link to a certificate that is gone',
    plant: (plant) =>
      plant.change(CP1, `${KUBELET_CLIENT}.crt`, `ln -sfn ${PKI}/2025-01-01.pem ${KUBELET_CLIENT}.crt`),
    expected: [`file-missing critical ${ONE}`],
    peers: ['kubeadm', 'openssl'],
  },
  {
    name: 'a kubeconfig that says nothing without its secrets',
    plant: async (plant) => {
      const path = '/etc/kubernetes/controller-manager.conf';
      plant.later(() => plant.restart(CP1, MANAGER));
      await plant.write(CP1, path, '{"apiVersion":"v1","kind":"Config","users":[]}\n');
    },
    expected: [`document-not-read warning ${ONE}`],
    peers: ['kubeadm'],
  },
];

/** What processes have in memory. */
const PROCESSES: readonly Fault[] = [
  {
    name: 'verification keys that were written after the start',
    plant: async (plant) => {
      await plant.write(CP2, SA_FILES.bundle, await plant.read(CP2, SA_FILES.bundle));
      plant.later(() => plant.restart(CP2, APISERVER));
    },
    expected: [`stale-in-memory warning ${TWO}`],
  },
  {
    name: 'verification keys of which the last is damaged',
    plant: async (plant) => {
      const keys = await plant.read(CP2, SA_FILES.bundle);
      const block = createPublicKey(await plant.pki.key('lost').then((path) => plant.pki.read(path)));
      const pem = block.export({ type: 'spki', format: 'pem' }).toString();
      await plant.write(CP2, SA_FILES.bundle, keys + pem.replace('MFkw', 'MFkx'));
      await plant.restarted(CP2, APISERVER);
    },
    expected: [`pem-block-lost warning ${TWO}`],
  },
  {
    name: 'an apiserver that trusts its own tokens only',
    plant: async (plant) => {
      const certificate = await plant.read(CP3, SA_FILES.certificate);
      const own = createPublicKey(certificate).export({ type: 'spki', format: 'pem' }).toString();
      await plant.write(CP3, SA_FILES.bundle, own);
      await plant.restarted(CP3, APISERVER);
    },
    expected: [`token-unverifiable critical ${THREE}`, `token-unverifiable critical ${THREE}`],
  },
  {
    name: 'flags that the next start would have',
    plant: async (plant) => {
      const flags = '/etc/default/kube-apiserver';
      const other = `${PKI}/apiserver-2.crt`;
      await plant.change(CP1, flags, `sed -i s,--tls-cert-file=[^\\ ]*,--tls-cert-file=${other}, ${flags}`);
    },
    expected: [`flags-changed info ${ONE}`],
  },
  {
    name: 'a clock that is ten minutes off',
    plant: (plant) =>
      // All hosts share one clock: libfaketime gives the process that tells certroll the time another one.
      plant.change(
        CP2,
        '/usr/local/bin/date',
        `lib=$(find /usr/lib -name libfaketime.so.1 | head -n 1); test -n "$lib"
         printf '#!/bin/sh\\nLD_PRELOAD=%s FAKETIME=+600 exec /usr/bin/date "$@"\\n' "$lib" >/usr/local/bin/date
         chmod 0755 /usr/local/bin/date`,
      ),
    expected: [`clock-skew warning ${TWO}`],
  },
  {
    name: 'an apiserver that is down',
    plant: async (plant) => {
      plant.later(() => plant.restart(CP3, APISERVER));
      await plant.sh(CP3, `systemctl stop ${APISERVER}`);
    },
    expected: [`no-apiserver-process critical ${THREE}`],
  },
  {
    name: 'a host that lets nobody in',
    plant: async (plant) => {
      plant.later(() => plant.sh(CP3, 'systemctl start ssh.service'));
      await plant.sh(CP3, 'systemctl stop ssh.service');
    },
    expected: [`not-seen critical ${THREE}`],
  },
];

/** A webhook that is called for objects which there are none of. */
const webhook = (url: string, authority: string): object => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'lab' },
  webhooks: [
    {
      name: 'none.lab.example.net',
      clientConfig: { url, caBundle: Buffer.from(authority).toString('base64') },
      rules: [
        { apiGroups: ['none.example.net'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['x'] },
      ],
      failurePolicy: 'Ignore',
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
    },
  ],
});
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';

/** Bundles in the API. */
const OBJECTS: readonly Fault[] = [
  {
    name: 'a webhook whose authority has expired, and that does not answer',
    plant: async (plant) => {
      const { pem } = await plant.pki.certificate('webhook', { ca: true, from: inDays(-9), to: inDays(-1) });
      await plant.create(WEBHOOKS, 'lab', webhook('https://127.0.0.1:1', pem));
    },
    expected: ['api-bundle-broken critical -', 'api-endpoint-not-seen info -'],
  },
  {
    name: 'a webhook that shows a certificate of an authority which its bundle has not',
    plant: async (plant) => {
      // What answers there is an etcd: its certificate is what counts.
      const server = `https://${CONTROL_PLANES[0]?.address ?? ''}:2379`;
      const { pem } = await plant.pki.certificate('webhook-ca', { ca: true });
      await plant.create(WEBHOOKS, 'lab', webhook(server, pem));
    },
    expected: ['api-endpoint-refused critical -'],
  },
  {
    name: 'a cluster-info with another authority',
    plant: async (plant) => {
      const { pem } = await plant.pki.certificate('other', { ca: true });
      const data = Buffer.from(pem).toString('base64');
      const kubeconfig = `apiVersion: v1\nkind: Config\nclusters:\n- name: ""\n  cluster:\n    certificate-authority-data: ${data}\n    server: https://10.77.0.20:6443\n`;
      await plant.create('/api/v1/namespaces/kube-public/configmaps', 'cluster-info', {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'cluster-info' },
        data: { kubeconfig },
      });
    },
    expected: [ONE, TWO, THREE].map((host) => `api-bundle-lags critical ${host}` as const),
  },
];

export const FAULTS: readonly Fault[] = [...DATES, ...PAIRS, ...FILES, ...PROCESSES, ...OBJECTS];
