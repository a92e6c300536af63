import { join } from 'node:path';

/** What an operator of a lab's cluster has: all that certroll is told about it. */
export interface BastionPaths {
  readonly folder: string;
  readonly clusterFile: string;
  readonly sshConfig: string;
  readonly knownHosts: string;
  readonly identity: string;
  readonly kubeconfig: string;
  readonly kubeCa: string;
  readonly etcd: { readonly ca: string; readonly cert: string; readonly key: string };
  readonly cfssl: {
    readonly ca: string;
    readonly rootCa: string;
    readonly authKey: string;
    readonly url: string;
  };
  /** kubectl and etcdctl, to be put on the path. */
  readonly bin: string;
}

export const bastionPaths = (dir: string): BastionPaths => {
  const at = (...parts: string[]): string => join(dir, 'bastion', ...parts);
  return {
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
    bin: at('bin'),
  };
};
