import { etcdctlArguments } from './etcdctl.js';
import { waitForHealth } from './health.js';
import type { Machine } from './machine.js';
import {
  createSigningKey,
  installBundle,
  installOwnKey,
  publicKeyOf,
  readCertificate,
  removeStrayFiles,
} from './sa-keys.js';
import { run } from './shell.js';

const UNITS = ['kube-apiserver.service', 'kube-controller-manager.service'];

/** What certroll keeps in etcd, and the lock, should a test have ended while it was held. */
const ETCD_PREFIXES = ['/certroll/', 'apiserver-restart/'];

const controlPlanesOf = (machines: readonly Machine[]): Machine[] =>
  machines.filter((machine) => machine.spec.role === 'control-plane');

/** Restarts hard and all at once: nobody is to be served meanwhile, and an orderly stop would take its time. */
const restartNow = async (machine: Machine): Promise<void> => {
  await machine.exec(['systemctl', 'kill', '--signal=KILL', ...UNITS]);
  await machine.must(['systemctl', 'restart', ...UNITS]);
};

/** New keys on every control plane, each trusted by its own apiserver and by no other. */
export const restoreFault = async (machines: readonly Machine[]): Promise<void> => {
  const controlPlanes = controlPlanesOf(machines);
  await Promise.all(
    controlPlanes.map(async (machine) => {
      const own = await createSigningKey(machine.spec);
      await removeStrayFiles(machine.root);
      await installOwnKey(machine.root, own);
      await restartNow(machine);
    }),
  );
  for (const prefix of ETCD_PREFIXES) await run(etcdctlArguments(['del', '--prefix', prefix]));
  await waitForHealth(machines, 120);
};

/** Every apiserver loads the present public keys of all. */
export const trustEachOther = async (machines: readonly Machine[]): Promise<void> => {
  const controlPlanes = controlPlanesOf(machines);
  const certificates = await Promise.all(controlPlanes.map((machine) => readCertificate(machine.root)));
  const publicKeys = certificates.map(publicKeyOf);
  await Promise.all(
    controlPlanes.map(async (machine) => {
      await installBundle(machine.root, publicKeys);
      await restartNow(machine);
    }),
  );
  await waitForHealth(machines, 120);
};
