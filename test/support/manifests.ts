import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './build.js';

/** Manifests as kubeadm 1.34.4 wrote them (`kubeadm init phase control-plane all --dry-run`), byte for byte. */
export const kubeadmManifest = (program: 'kube-apiserver' | 'kube-controller-manager'): string =>
  readFileSync(join(ROOT, 'test/support/manifests', `${program}.yaml`), 'utf8');
