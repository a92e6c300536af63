import { join } from 'node:path';
import { LAB_DIR } from './settings.js';

const at = (...parts: string[]): string => join(LAB_DIR, 'bastion', ...parts);

/** What an operator of the lab's cluster has: all that certroll is told about it. */
export const BASTION = {
  folder: at(),
  clusterFile: at('cluster.yaml'),
  sshConfig: at('ssh_config'),
  knownHosts: at('known_hosts'),
  identity: at('id_ed25519'),
  kubeconfig: at('kubeconfig'),
  kubeCa: at('kube-ca.crt'),
  etcd: { ca: at('etcd', 'ca.crt'), cert: at('etcd', 'client.crt'), key: at('etcd', 'client.key') },
  cfssl: {
    ca: at('cfssl', 'tls-ca.crt'),
    rootCa: at('cfssl', 'ca.crt'),
    authKey: at('cfssl', 'auth-key'),
    url: at('cfssl', 'url'),
  },
  /** kubectl and etcdctl, to be put on the path. */
  bin: at('bin'),
} as const;
