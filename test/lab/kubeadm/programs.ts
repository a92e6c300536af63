import { ensurePrograms, type Program, type Programs } from '../build/binaries.js';

const NAMES = [
  'etcd',
  'etcdctl',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubeadm',
  'kubectl',
  'kubelet',
] as const satisfies readonly Program[];

export type NodePrograms = Programs<(typeof NAMES)[number]>;

export const ensureNodePrograms = (): Promise<NodePrograms> => ensurePrograms(NAMES);

/** Programs of this machine as a node sees them; all others come in images. */
export const bindsOf = (programs: NodePrograms): Record<string, string> => ({
  ...Object.fromEntries(
    (['kubeadm', 'kubectl', 'kubelet'] as const).map((name) => [`/usr/bin/${name}`, programs[name]]),
  ),
  '/usr/local/bin/etcdctl': programs.etcdctl,
});
