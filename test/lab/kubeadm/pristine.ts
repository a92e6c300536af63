import { createHash } from 'node:crypto';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { BASE_DIR } from '../build/base.js';
import { NODE_LAYER } from '../build/node-layer.js';
import { haproxyFiles } from '../haproxy.js';
import type { Machine } from '../machine.js';
import { CACHE_DIR, VERSIONS } from '../settings.js';
import { run } from '../shell.js';
import type { HostSpec } from '../topology.js';
import { initConfig, joinConfig } from './config.js';
import { nodeFiles } from './node-files.js';
import { CONTAINERD_FOLDER, KUBEADM, NODES } from './settings.js';

/** Everything that decides what the hosts of a new cluster hold, but for the secrets. */
const recipe = (): string => {
  const secrets = { token: '', certificateKey: '' };
  const [first, ...others] = NODES;
  return JSON.stringify([
    [BASE_DIR, NODE_LAYER, VERSIONS, KUBEADM],
    NODES.map((host) => nodeFiles(host, '')),
    haproxyFiles(KUBEADM, ''),
    first === undefined ? '' : initConfig(first, secrets),
    others.map((host) => joinConfig(host, secrets, '')),
  ]);
};

const KEY = createHash('sha256').update(recipe()).digest('hex').slice(0, 8);

/** The hosts of a finished cluster, switched off: below each host's name its tree and its volumes. */
export const PRISTINE = join(CACHE_DIR, `kubeadm-cluster-${VERSIONS.kubernetes}-${KEY}`);

/**
 * kubeadm's certificates are good for a year, and a kubelet takes a new one after 70 % of that at the
 * earliest (client-go, util/certificate): a cluster this old, in days, is made anew before that.
 */
const MOST_DAYS = 180;

/** True when the cache has a cluster of this recipe that is young enough. */
export const hasPristine = async (): Promise<boolean> => {
  const made = await stat(PRISTINE).catch(() => undefined);
  return made !== undefined && Date.now() - made.mtimeMs < MOST_DAYS * 86_400_000;
};

const isNode = (host: HostSpec): boolean => host.role !== 'load-balancer';

const volumeIn = (folder: string): string => join(folder, 'volumes', CONTAINERD_FOLDER);

/** Takes the trees of machines that are off and unmounted into the cache. */
export const keepPristine = async (machines: readonly Machine[]): Promise<void> => {
  const half = `${PRISTINE}.part`;
  await rm(half, { recursive: true, force: true });
  for (const machine of machines) {
    const folder = join(half, machine.spec.name);
    await mkdir(folder, { recursive: true });
    await run(['mv', machine.upper, join(folder, 'upper')]);
    // What was logged while the cluster was made is of no use to tests that read logs.
    await rm(join(folder, 'upper/var/log/journal'), { recursive: true, force: true });
    if (!isNode(machine.spec)) continue;
    await mkdir(dirname(volumeIn(folder)), { recursive: true });
    await run(['mv', machine.volume(CONTAINERD_FOLDER), volumeIn(folder)]);
  }
  await rm(PRISTINE, { recursive: true, force: true });
  await rename(half, PRISTINE);
};

/**
 * Copies a folder of containerd. Layers and blobs are written once and never again, so links to them do;
 * everything else (databases, states) is copied.
 */
const copyContainerd = async (from: string, to: string): Promise<void> => {
  await mkdir(dirname(to), { recursive: true });
  try {
    await run(['cp', '--archive', '--link', from, to]);
  } catch {
    // The cache is on another file system.
    await rm(to, { recursive: true, force: true });
    await run(['cp', '--archive', from, to]);
    return;
  }
  const changing = ['-type', 'f', '!', '-path', '*/blobs/*', '!', '-path', '*/snapshots/*'];
  const copy = ['cp', '--archive', '--remove-destination', '{}', `${to}/{}`, ';'];
  await run(['find', '.', ...changing, '-exec', ...copy], { cwd: from });
};

/** Gives machines that are not mounted their pristine trees and volumes. */
export const layPristine = async (machines: readonly Machine[]): Promise<void> => {
  const nodes = machines.filter(({ spec }) => isNode(spec));
  await Promise.all(
    nodes.map(async (machine) => {
      await copyContainerd(volumeIn(join(PRISTINE, machine.spec.name)), machine.volume(CONTAINERD_FOLDER));
    }),
  );
  await Promise.all(machines.map((machine) => machine.mount()));
};
