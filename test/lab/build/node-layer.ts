import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { mountOverlay, unmount } from '../overlay.js';
import { CACHE_DIR } from '../settings.js';
import { run, say } from '../shell.js';
import { secondsSince } from '../wait.js';
import { BASE_DIR } from './base.js';

/** A container runtime and what kubeadm looks for before it makes a node of a host. */
const PACKAGES = [
  'containerd',
  'runc',
  'containernetworking-plugins',
  'conntrack',
  'ethtool',
  'iptables',
  'kmod',
];

/**
 * Installs into the tree, as root of it. No service is started: policy-rc.d refuses. kubeadm wants to make
 * /var/lib/etcd itself.
 */
const INSTALL = `
set -eu
export DEBIAN_FRONTEND=noninteractive
printf '#!/bin/sh\\nexit 101\\n' > /usr/sbin/policy-rc.d
chmod 0755 /usr/sbin/policy-rc.d
apt-get update -q
apt-get install -y -q --no-install-recommends ${PACKAGES.join(' ')}
apt-get clean
systemctl -q disable containerd.service
rm -rf /var/lib/apt/lists/* /usr/sbin/policy-rc.d /var/lib/etcd
`;

const key = createHash('sha256')
  .update(JSON.stringify([basename(BASE_DIR), PACKAGES, INSTALL]))
  .digest('hex')
  .slice(0, 8);

/** What the hosts of a kubeadm cluster have more than the base tree: to be mounted over it. */
export const NODE_LAYER = join(CACHE_DIR, `node-layer-${key}`);

/** Makes the layer with apt unless the cache has it. Needs the base tree. */
export const ensureNodeLayer = async (): Promise<void> => {
  if (existsSync(NODE_LAYER)) return;
  const started = Date.now();
  say('installing containerd and what else a node needs');
  const part = `${NODE_LAYER}.part`;
  const [root, upper, work] = [join(part, 'root'), join(part, 'upper'), join(part, 'work')];
  await unmount(root);
  await rm(part, { recursive: true, force: true });
  for (const folder of [root, upper, work]) await mkdir(folder, { recursive: true });
  await mountOverlay(root, { lowers: [BASE_DIR], upper, work });
  try {
    // apt resolves names as this machine does.
    await copyFile('/etc/resolv.conf', join(root, 'etc/resolv.conf'));
    const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' };
    await run(['nice', 'chroot', root, '/bin/sh', '-s'], { input: INSTALL, env });
    await rm(join(root, 'etc/resolv.conf'));
  } finally {
    await unmount(root);
  }
  await rename(upper, NODE_LAYER);
  await rm(part, { recursive: true, force: true });
  say(`installed them in ${secondsSince(started)} s`);
};
