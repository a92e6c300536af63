import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createBastion } from './bastion.js';
import { BASE_DIR, ensureBase } from './build/base.js';
import { ensureBinaries, type Binaries } from './build/binaries.js';
import { ensurePackages } from './build/packages.js';
import { waitForCfssl, waitForHealth } from './health.js';
import { removeCgroups, type ControlGroups } from './cgroup.js';
import { placeCommonFiles } from './common-files.js';
import { CONTROL_PLANE_UNITS, controlPlaneFiles } from './control-plane.js';
import { enable, place, type HostFile } from './files.js';
import { createAuthKey, LOAD_BALANCER_UNITS, loadBalancerFiles } from './load-balancer.js';
import { KubeClient } from './kube.js';
import type { Housing, Machine } from './machine.js';
import { refuseSecondLab } from './lab-lock.js';
import { createBridge, deleteBridge } from './network.js';
import { writeKnownHosts } from './operator-files.js';
import { createCa, preparePki } from './pki.js';
import { savePristine } from './pristine.js';
import { createSigningKey, installOwnKey } from './sa-keys.js';
import { seedObjects } from './seed.js';
import { LAB_DIR, NETWORK, SYSTEMD } from './settings.js';
import { say } from './shell.js';
import { secondsSince } from './wait.js';

const CGROUPS: ControlGroups = { parent: SYSTEMD.cgroup, withControllers: false };

/** Where the systemd lab's hosts live: all on one base tree. */
export const HOUSING: Housing = {
  dir: LAB_DIR,
  bridge: NETWORK.bridge,
  groups: CGROUPS,
  lowers: () => [BASE_DIR],
  volumes: [],
  privileges: [],
};

const STATE = join(LAB_DIR, 'state.json');

/** Programs of this machine as the hosts see them. */
const bindsOf = (binaries: Binaries): Record<string, string> =>
  Object.fromEntries(Object.entries(binaries).map(([name, path]) => [`/usr/local/bin/${name}`, path]));

/** What the lab on disk was made from; a lab made from something else is made anew. */
const fingerprint = (binaries: Binaries): string => JSON.stringify({ base: BASE_DIR, binaries });

/** True when a whole lab, made from these binaries, is on disk and mounted. */
const isAssembled = async (machines: readonly Machine[], binaries: Binaries): Promise<boolean> => {
  const state = await readFile(STATE, 'utf8').catch(() => '');
  const mounted = await Promise.all(machines.map((machine) => machine.isMounted()));
  return state === fingerprint(binaries) && mounted.every(Boolean);
};

/** Removes every trace of a lab, whole or half made. The cache stays. */
export const dismantle = async (machines: readonly Machine[]): Promise<void> => {
  await rm(STATE, { force: true });
  await Promise.all(machines.map((machine) => machine.remove()));
  await removeCgroups(CGROUPS);
  await deleteBridge(NETWORK);
  for (const folder of ['pki', 'bastion', 'hosts'])
    await rm(join(LAB_DIR, folder), { recursive: true, force: true });
};

const createAuthorities = async (): Promise<void> => {
  await preparePki();
  const names = {
    'kube-ca': 'kubernetes',
    'front-proxy-ca': 'front-proxy',
    'etcd-ca': 'etcd',
    'tls-ca': 'lab-tls',
  };
  await Promise.all([
    ...Object.entries(names).map(([name, commonName]) => createCa(name, `${commonName}-ca`)),
    createCa('service-accounts-ca', 'service-accounts'),
  ]);
};

const furnish = async (
  machine: Machine,
  files: readonly HostFile[],
  units: readonly string[],
): Promise<void> => {
  await machine.mount();
  await placeCommonFiles(SYSTEMD, machine);
  for (const file of files) await place(machine.root, file);
  for (const unit of units) await enable(machine.root, unit);
  await savePristine(machine);
};

const furnishControlPlane = async (machine: Machine): Promise<void> => {
  await furnish(machine, await controlPlaneFiles(machine.spec), CONTROL_PLANE_UNITS);
};

/** Makes the lab from nothing: authorities, hosts, the fault, and the bastion folder. */
const assemble = async (machines: readonly Machine[], binaries: Binaries): Promise<void> => {
  const [balancer, ...controlPlanes] = machines;
  if (!balancer) throw new Error('The lab has no load balancer');
  await createBridge(NETWORK);
  await createAuthorities();
  const authKey = createAuthKey();
  await createBastion(binaries, authKey);
  await furnish(balancer, await loadBalancerFiles(authKey), LOAD_BALANCER_UNITS);
  await balancer.start(bindsOf(binaries));
  await Promise.all([waitForCfssl(), ...controlPlanes.map(furnishControlPlane)]);
  await Promise.all(
    controlPlanes.map(async (machine) => {
      await installOwnKey(machine.root, await createSigningKey(machine.spec));
      await machine.start(bindsOf(binaries));
    }),
  );
  await writeKnownHosts(
    SYSTEMD,
    (name) => machines.find((machine) => machine.spec.name === name)?.root ?? '',
  );
  say('hosts are started; waiting for the control planes');
  await waitForHealth(machines, 240);
  const [first] = controlPlanes;
  if (first) await seedObjects(await KubeClient.open(), first.spec);
  await writeFile(STATE, fingerprint(binaries));
};

/** Brings the lab up: repairs one that is there, makes one otherwise. */
export const bringUp = async (machines: readonly Machine[]): Promise<void> => {
  const started = Date.now();
  if (process.getuid?.() !== 0)
    throw new Error('The lab needs root: it mounts file systems and starts machines');
  await refuseSecondLab(SYSTEMD);
  await ensurePackages();
  const binaries = await ensureBinaries();
  await ensureBase();
  if (await isAssembled(machines, binaries)) {
    await wake(machines);
    await waitForHealth(machines, 120);
    say(`up and healthy (${secondsSince(started)} s)`);
    return;
  }
  await dismantle(machines);
  await assemble(machines, binaries);
  say(`up (${secondsSince(started)} s)`);
};

/** Starts those machines of an assembled lab that are off, and puts all cables in. */
export const wake = async (machines: readonly Machine[]): Promise<void> => {
  const binaries = await ensureBinaries();
  await Promise.all(
    machines.map(async (machine) => {
      await machine.start(bindsOf(binaries));
      await machine.heal();
    }),
  );
};
