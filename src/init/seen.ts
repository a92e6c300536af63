/** Something that was seen, and where, for the comment beside it. */
export interface Seen<T> {
  readonly value: T;
  readonly where: string;
}

/** A kube-apiserver or kube-controller-manager that runs on a host. */
export interface SeenProcess {
  readonly pid: number;
  readonly argv: readonly string[];
  /** The systemd unit whose main process it is. */
  readonly unit: string | undefined;
  /** /proc/PID/cgroup. */
  readonly cgroup: string;
  /** The manifest of the kubelet's folder that starts such a program; only looked for where the process is in a pod. */
  readonly manifest: string | undefined;
}

export interface SeenHost {
  /** The name that SSH reached it by, and that the cluster file is to have. */
  readonly name: string;
  /** Other names of it that were seen: what the API, flags or the host itself call it; addresses too. */
  readonly aliases: readonly string[];
  /** Where the name was had from. */
  readonly where: string;
  /** Where its ports are reached from the bastion. */
  readonly address: string;
  /** Undefined: none runs there, so it is no control plane. */
  readonly apiserver: SeenProcess | undefined;
  readonly controllerManager: SeenProcess | undefined;
  /** What etcd says that its clients are to use; empty where none runs there. */
  readonly etcdClientUrls: readonly string[];
  /** kid of the key that its apiserver signs with. */
  readonly signingKid: string | undefined;
  /** Who issued the certificate of that key, where one of the verification files is it. */
  readonly signingIssuer: string | undefined;
  /** Names of the certificate that its apiserver shows at its own address; undefined when it could not be had. */
  readonly servedNames: readonly string[] | undefined;
  /** Locks that units and cron jobs there take with etcdctl. */
  readonly lockNames: readonly string[];
}

/** What the API says of the cluster. */
export interface SeenApi {
  /** How it was asked, for people. */
  readonly how: string;
  readonly version: string | undefined;
  readonly controlPlanes: readonly SeenNode[];
  readonly nodes: readonly SeenNode[];
  /** Hosts by the leases that apiservers keep (Kubernetes 1.26 and later). */
  readonly leaseHosts: readonly string[];
  /** Addresses of apiservers, from the endpoints of the service `kubernetes`. */
  readonly endpoints: readonly string[];
  /** What could not be read there, and why. */
  readonly unread: readonly string[];
}

export interface SeenNode {
  readonly name: string;
  readonly addresses: readonly string[];
}

/** A file on the bastion by the path that the cluster file is to have, and how it was chosen. */
export type ChosenFile = Seen<string>;

/** The client files of etcd on the bastion that were tried and let in. */
export interface SeenEtcdFiles {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly serverName: string | undefined;
  /** Client URLs of the members, by etcd itself. */
  readonly memberUrls: readonly string[];
  readonly where: string;
}

/** Everything that init saw. */
export interface Survey {
  readonly hosts: readonly SeenHost[];
  /** Hosts that were named somewhere and could not be looked at. */
  readonly unreached: readonly { readonly name: string; readonly where: string; readonly why: string }[];
  readonly api: SeenApi | undefined;
  readonly kubeconfig: ChosenFile | undefined;
  /** The name of the kubeconfig's cluster. */
  readonly kubeconfigCluster: string | undefined;
  readonly etcdFiles: SeenEtcdFiles | undefined;
  /** Why no files for etcd were found, or what else could not be found out. */
  readonly notes: readonly string[];
}

/** Control planes: hosts on which a kube-apiserver runs. */
export const controlPlanesOf = ({ hosts }: Pick<Survey, 'hosts'>): readonly SeenHost[] =>
  hosts.filter(({ apiserver }) => apiserver !== undefined);
