import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureBase } from '../build/base.js';
import { ensureImages } from '../build/images.js';
import { ensureNodeLayer } from '../build/node-layer.js';
import { ensurePackages } from '../build/packages.js';
import { removeCgroups } from '../cgroup.js';
import { placeCommonFiles } from '../common-files.js';
import { refuseSecondLab } from '../lab-lock.js';
import { Machine } from '../machine.js';
import { createBridge, deleteBridge } from '../network.js';
import { createSshFiles } from '../operator-files.js';
import { say } from '../shell.js';
import { hostsOf, type HostSpec } from '../topology.js';
import { secondsSince } from '../wait.js';
import { completeBastion } from './bastion.js';
import { createCluster } from './create.js';
import { waitForNodes } from './health.js';
import { CGROUPS, housingOf } from './housing.js';
import { hasPristine, keepPristine, layPristine, PRISTINE } from './pristine.js';
import { bindsOf, ensureNodePrograms, type NodePrograms } from './programs.js';
import { KUBEADM } from './settings.js';

const STATE = join(KUBEADM.dir, 'state.json');

/** The hosts, the load balancer first; on the trees of a finished cluster, or on none. */
export const machinesOf = (pristine?: string): readonly Machine[] =>
  hostsOf(KUBEADM).map((host) => new Machine(host, housingOf(isNode(host), pristine)));

const isNode = (host: HostSpec): boolean => host.role !== 'load-balancer';

/** What the lab on disk was made from; a lab made from something else is made anew. */
const fingerprint = (programs: NodePrograms): string => JSON.stringify({ pristine: PRISTINE, programs });

const isAssembled = async (machines: readonly Machine[], programs: NodePrograms): Promise<boolean> => {
  const state = await readFile(STATE, 'utf8').catch(() => '');
  const mounted = await Promise.all(machines.map((machine) => machine.isMounted()));
  return state === fingerprint(programs) && mounted.every(Boolean);
};

/** Removes every trace of a lab, whole or half made. The cache stays. */
export const dismantle = async (machines: readonly Machine[]): Promise<void> => {
  await rm(STATE, { force: true });
  await Promise.all(machines.map((machine) => machine.remove()));
  await removeCgroups(CGROUPS);
  await deleteBridge(KUBEADM.network);
  for (const folder of ['pki', 'bastion', 'hosts'])
    await rm(join(KUBEADM.dir, folder), { recursive: true, force: true });
};

/** Makes the cluster once, switches its hosts off, and keeps them. */
const ensurePristine = async (programs: NodePrograms): Promise<void> => {
  if (await hasPristine()) return;
  const started = Date.now();
  await ensureBase();
  await ensureNodeLayer();
  const images = await ensureImages(programs);
  say('making the cluster with kubeadm; takes minutes, once');
  const machines = machinesOf();
  await createBridge(KUBEADM.network);
  await createSshFiles(KUBEADM);
  await createCluster(machines, programs, images);
  await Promise.all(machines.map((machine) => machine.poweroff()));
  await Promise.all(machines.map((machine) => machine.unmount()));
  await keepPristine(machines);
  await dismantle(machines);
  say(`made the cluster in ${secondsSince(started)} s`);
};

const start = async (machines: readonly Machine[], programs: NodePrograms): Promise<void> => {
  await Promise.all(
    machines.map(async (machine) => {
      await machine.start(isNode(machine.spec) ? bindsOf(programs) : {});
      await machine.heal();
    }),
  );
};

/** Starts those machines of an assembled lab that are off, and puts all cables in. */
export const wake = async (machines: readonly Machine[]): Promise<void> => {
  await start(machines, await ensureNodePrograms());
};

/** Puts pristine hosts in place and starts them. */
const boot = async (machines: readonly Machine[], programs: NodePrograms): Promise<void> => {
  await layPristine(machines);
  await Promise.all(machines.map((machine) => placeCommonFiles(KUBEADM, machine)));
  await start(machines, programs);
};

/** Brings the lab up: repairs one that is there, makes one otherwise. */
export const bringUp = async (machines: readonly Machine[]): Promise<void> => {
  const started = Date.now();
  if (process.getuid?.() !== 0)
    throw new Error('The lab needs root: it mounts file systems and starts machines');
  await refuseSecondLab(KUBEADM);
  await ensurePackages();
  const programs = await ensureNodePrograms();
  if (await isAssembled(machines, programs)) {
    await start(machines, programs);
    await waitForNodes(machines, 180);
    say(`up and healthy (${secondsSince(started)} s)`);
    return;
  }
  await dismantle(machines);
  await mkdir(KUBEADM.dir, { recursive: true });
  await ensurePristine(programs);
  await createBridge(KUBEADM.network);
  await createSshFiles(KUBEADM);
  await boot(machines, programs);
  await completeBastion(programs, (name) => machines.find(({ spec }) => spec.name === name)?.root ?? '');
  await waitForNodes(machines, 240);
  await writeFile(STATE, fingerprint(programs));
  say(`up (${secondsSince(started)} s)`);
};

/**
 * Makes all hosts what they were after the build, etcd's data included: they are switched off hard and start
 * anew. The operator keeps what they have. A lab that is not up, or not whole, is brought up.
 */
export const restorePristine = async (machines: readonly Machine[]): Promise<void> => {
  const programs = await ensureNodePrograms();
  if (!(await isAssembled(machines, programs))) {
    await bringUp(machines);
    return;
  }
  // Until it is done the lab on disk is not whole: if this is interrupted, the next `up` makes it anew.
  await rm(STATE);
  await Promise.all(machines.map((machine) => machine.remove()));
  await boot(machines, programs);
  await waitForNodes(machines, 240);
  await writeFile(STATE, fingerprint(programs));
};
