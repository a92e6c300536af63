import { join } from 'node:path';
import { BASE_DIR } from '../build/base.js';
import { NODE_LAYER } from '../build/node-layer.js';
import type { Housing } from '../machine.js';
import { CONTAINERD_FOLDER, KUBEADM } from './settings.js';

/** A container runtime inside of the host makes devices, mounts and keyrings of its own. */
const PRIVILEGES = ['--capability=all', '--system-call-filter=add_key keyctl bpf'];

export const CGROUPS = { parent: KUBEADM.cgroup, withControllers: true } as const;

const shared = { dir: KUBEADM.dir, bridge: KUBEADM.network.bridge, groups: CGROUPS };

/** Where a host lives. `pristine` holds the trees of a cluster that was made before, by host name. */
export const housingOf = (isNode: boolean, pristine?: string): Housing => ({
  ...shared,
  lowers: (host) => [
    ...(pristine === undefined ? [] : [join(pristine, host.name, 'upper')]),
    ...(isNode ? [NODE_LAYER] : []),
    BASE_DIR,
  ],
  volumes: isNode ? [CONTAINERD_FOLDER] : [],
  privileges: isNode ? PRIVILEGES : [],
});
