import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BASTION } from './bastion-paths.js';
import { createBastion, writeKnownHosts } from './bastion.js';
import { BASE_DIR, ensureBase } from './build/base.js';
import { ensureBinaries, type Binaries } from './build/binaries.js';
import { ensurePackages } from './build/packages.js';
import { waitForCfssl, waitForHealth } from './health.js';
import { removeCgroups } from './cgroup.js';
import { COMMON_UNITS, commonFiles } from './common-files.js';
import { CONTROL_PLANE_UNITS, controlPlaneFiles } from './control-plane.js';
import { enable, place, type HostFile } from './files.js';
import { createAuthKey, LOAD_BALANCER_UNITS, loadBalancerFiles } from './load-balancer.js';
import type { Machine } from './machine.js';
import { createBridge, deleteBridge } from './network.js';
import { createCa, preparePki } from './pki.js';
import { findProcesses } from './processes.js';
import { savePristine } from './pristine.js';
import { createSigningKey, installOwnKey } from './sa-keys.js';
import { seedObjects } from './seed.js';
import { LAB_DIR, NETWORK } from './settings.js';
import { run, say } from './shell.js';
import { secondsSince } from './wait.js';

const STATE = join(LAB_DIR, 'state.json');

/** Programs of this machine as the hosts see them. */
const bindsOf = (binaries: Binaries): Record<string, string> =>
  Object.fromEntries(
    Object.entries(binaries).map(([name, path]) => [`/usr/local/bin/${name}`, String(path)]),
  );

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
  await removeCgroups();
  await deleteBridge();
  for (const folder of ['pki', 'bastion', 'hosts'])
    await rm(join(LAB_DIR, folder), { recursive: true, force: true });
};

const refuseSecondLab = async (): Promise<void> => {
  const others = await findProcesses(
    (argv) =>
      argv[0] === 'systemd-nspawn' &&
      argv.includes(`--network-bridge=${NETWORK.bridge}`) &&
      !argv.some((argument) => argument.startsWith(`--directory=${LAB_DIR}/`)),
  );
  if (others.length > 0)
    throw new Error(`Another lab, in another folder, is up (pid ${others.join(', ')}): take it down first`);
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
  const publicKey = await readFile(`${BASTION.identity}.pub`, 'utf8');
  for (const file of [...commonFiles(machine.spec, publicKey), ...files]) await place(machine.root, file);
  for (const unit of [...COMMON_UNITS, ...units]) await enable(machine.root, unit);
  await run(['ssh-keygen', '-A', '-f', machine.root]);
  await savePristine(machine);
};

const furnishControlPlane = async (machine: Machine): Promise<void> => {
  await furnish(machine, await controlPlaneFiles(machine.spec), CONTROL_PLANE_UNITS);
};

/** Makes the lab from nothing: authorities, hosts, the fault, and the bastion folder. */
const assemble = async (machines: readonly Machine[], binaries: Binaries): Promise<void> => {
  const [balancer, ...controlPlanes] = machines;
  if (!balancer) throw new Error('The lab has no load balancer');
  await createBridge();
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
  await writeKnownHosts((name) => machines.find((machine) => machine.spec.name === name)?.root ?? '');
  say('hosts are started; waiting for the control planes');
  await waitForHealth(machines, 240);
  const [first] = controlPlanes;
  if (first) await seedObjects(first.spec);
  await writeFile(STATE, fingerprint(binaries));
};

/** Brings the lab up: repairs one that is there, makes one otherwise. */
export const bringUp = async (machines: readonly Machine[]): Promise<void> => {
  const started = Date.now();
  if (process.getuid?.() !== 0)
    throw new Error('The lab needs root: it mounts file systems and starts machines');
  await refuseSecondLab();
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
