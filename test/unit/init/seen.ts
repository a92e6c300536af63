import type { SeenHost, SeenProcess, Survey } from '../../../src/init/seen.js';

export const process = (argv: readonly string[], more: Partial<SeenProcess> = {}): SeenProcess => ({
  ...{ pid: 42, argv, unit: 'kube-apiserver.service', manifest: undefined },
  cgroup: '0::/system.slice/kube-apiserver.service\n',
  ...more,
});

export const FLAGS = [
  'kube-apiserver',
  '--etcd-servers=https://10.0.0.1:2379,https://10.0.0.2:2379',
  '--service-account-signing-key-file=/pki/sa.key',
  '--service-account-key-file=/pki/sa.crt',
  '--service-account-key-file=/pki/bundle.pem',
];

export const host = (number: number, more: Partial<SeenHost> = {}): SeenHost => ({
  name: `cp${number}.example.net`,
  aliases: [`cp${number}`],
  where: 'node',
  address: `10.0.0.${number}`,
  apiserver: process(FLAGS),
  controllerManager: process(['kube-controller-manager'], { unit: 'kube-controller-manager.service' }),
  etcdClientUrls: [],
  signingKid: `kid${number}`,
  signingIssuer: undefined,
  servedNames: ['kubernetes.default.svc', `cp${number}.example.net`, `10.0.0.${number}`],
  lockNames: [],
  ...more,
});

export const survey = (more: Partial<Survey> = {}): Survey => ({
  hosts: [host(1), host(2)],
  unreached: [],
  api: undefined,
  kubeconfig: { value: './kubeconfig', where: 'Given by --kubeconfig' },
  kubeconfigCluster: 'prod',
  etcdFiles: {
    ...{ ca: './ca.crt', cert: './client.crt', key: './client.key', serverName: undefined },
    ...{ memberUrls: ['https://10.0.0.1:2379', 'https://10.0.0.2:2379'], where: 'a read' },
  },
  notes: [],
  ...more,
});
