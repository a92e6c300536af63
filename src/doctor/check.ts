/** Where a check is made. */
export type GroupKind = 'bastion' | 'host' | 'etcd' | 'rights';

/** What is looked at; the words that `--json` gives and the docs name. */
export type CheckId =
  | 'cluster-file'
  | 'ssh-identity'
  | 'kubeconfig'
  | 'kubeconfig-certificate'
  | 'etcd-certificate'
  | 'issuer'
  | 'issuer-certificate'
  | 'bastion-clock'
  | 'ssh-config'
  | 'name'
  | 'tcp'
  | 'host-key'
  | 'login'
  | 'sudo'
  | 'tools'
  | 'clock'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'key-files'
  | 'free-space'
  | 'startable'
  | 'api'
  | 'same-process'
  | 'etcd-member'
  | 'etcd-registry'
  | 'etcd-lock'
  | 'right'
  | 'probe-account';

/** What a check found. */
export type Verdict =
  | { readonly state: 'ok'; readonly text: string }
  /** A warning stops no rotation: some other job would be kept from its work, or something is about to become a failure. */
  | { readonly state: 'failed' | 'warning'; readonly text: string; readonly advice: string };

/** Checks that need not be the same for all: `subject` tells those of one kind in a group apart. */
interface Named {
  readonly id: CheckId;
  readonly subject?: string;
}

export type Check = Named &
  (
    | Verdict
    | {
        readonly state: 'skipped';
        /** Why it could not be made. */
        readonly text: string;
        /** The check that failed before it. */
        readonly blockedBy: CheckId;
      }
  );

export interface CheckGroup {
  readonly kind: GroupKind;
  /** Of a host its name. */
  readonly name: string;
  /** Of a host: what the cluster file says it is. */
  readonly role?: 'control-plane' | 'node';
  readonly checks: readonly Check[];
}

export const ok = (text: string): Verdict => ({ state: 'ok', text });
export const failed = (text: string, advice: string): Verdict => ({ state: 'failed', text, advice });
export const warning = (text: string, advice: string): Verdict => ({ state: 'warning', text, advice });

/** What a check is called for people. */
export const TITLES: Readonly<Record<CheckId, string>> = {
  'cluster-file': 'cluster file',
  'ssh-identity': 'SSH keys',
  kubeconfig: 'kubeconfig',
  'kubeconfig-certificate': 'kubeconfig certificate',
  'etcd-certificate': 'etcd certificates',
  issuer: 'issuer',
  'issuer-certificate': 'issuer certificate',
  'bastion-clock': 'clock',
  'ssh-config': 'SSH target',
  name: 'name',
  tcp: 'SSH port',
  'host-key': 'host key',
  login: 'SSH login',
  sudo: 'sudo',
  tools: 'programs',
  clock: 'clock',
  'kube-apiserver': 'kube-apiserver',
  'kube-controller-manager': 'controller-manager',
  'key-files': 'key files',
  'free-space': 'free space',
  startable: 'could start again',
  api: 'API',
  'same-process': 'same apiserver',
  'etcd-member': 'member',
  'etcd-registry': 'key registry',
  'etcd-lock': 'lock',
  right: 'right',
  'probe-account': 'probe account',
};

const ORDER = Object.keys(TITLES);

/** In the order in which one thing needs the other, whenever each was found out. */
export const inOrder = (checks: readonly Check[]): readonly Check[] =>
  [...checks].sort((one, other) => ORDER.indexOf(one.id) - ORDER.indexOf(other.id));
