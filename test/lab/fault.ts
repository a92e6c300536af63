import { wake } from './assemble.js';
import { CONTROL_PLANE_UNITS } from './control-plane.js';
import { etcdctlArguments } from './etcdctl.js';
import { waitForCfssl, waitForHealth } from './health.js';
import { LOAD_BALANCER_UNITS } from './load-balancer.js';
import type { Machine } from './machine.js';
import { restorePristine } from './pristine.js';
import { createSigningKey, installBundle, installOwnKey, publicKeyOf, readCertificate } from './sa-keys.js';
import { SYSTEMD } from './settings.js';
import { run } from './shell.js';
import { until } from './wait.js';

const KEY_READERS = ['kube-apiserver.service', 'kube-controller-manager.service'];

/** What certroll keeps in etcd, and the lock, should a test have ended while it was held. */
const ETCD_PREFIXES = ['/certroll/', 'apiserver-restart/'];

const withRole = (machines: readonly Machine[], role: string): Machine[] =>
  machines.filter((machine) => machine.spec.role === role);

/** Restarts hard and all at once: nobody is to be served meanwhile, and an orderly stop would take its time. */
const restartNow = async (machine: Machine, units: readonly string[]): Promise<void> => {
  await machine.exec(['systemctl', 'kill', '--signal=KILL', ...units]);
  await machine.must(['systemctl', 'restart', ...units]);
};

const waitForSystemd = async (machine: Machine): Promise<void> => {
  await until(`systemd of ${machine.spec.name} answers`, 30, async () => {
    const result = await machine.exec(['systemctl', 'show', '--property=Version']);
    return result.exitCode === 0;
  });
};

const restoreBalancer = async (machine: Machine): Promise<void> => {
  const changed = await restorePristine(machine);
  await machine.must(['systemctl', 'daemon-reload']);
  await machine.must(['systemctl', changed.length > 0 ? 'restart' : 'start', ...LOAD_BALANCER_UNITS]);
};

/** The host as it was made, with a new key that its own apiserver trusts and no other does. */
const restoreControlPlane = async (machine: Machine): Promise<void> => {
  const own = await createSigningKey(machine.spec);
  const changed = await restorePristine(machine);
  await installOwnKey(machine.root, own);
  await machine.must(['systemctl', 'daemon-reload']);
  const etcdChanged = changed.some((line) => line.includes('etcd'));
  await restartNow(machine, etcdChanged ? CONTROL_PLANE_UNITS : KEY_READERS);
};

/** Puts all hosts back to the beginning, running and with the fault, whatever a test has left of them. */
export const restoreFault = async (machines: readonly Machine[]): Promise<void> => {
  await wake(machines);
  await Promise.all(machines.map(waitForSystemd));
  await Promise.all(withRole(machines, 'load-balancer').map(restoreBalancer));
  await waitForCfssl();
  await Promise.all(withRole(machines, 'control-plane').map(restoreControlPlane));
  for (const prefix of ETCD_PREFIXES) await run(etcdctlArguments(SYSTEMD, ['del', '--prefix', prefix]));
  await waitForHealth(machines, 120);
};

/** Every apiserver loads the present public keys of all. */
export const trustEachOther = async (machines: readonly Machine[]): Promise<void> => {
  const controlPlanes = withRole(machines, 'control-plane');
  const certificates = await Promise.all(controlPlanes.map((machine) => readCertificate(machine.root)));
  const publicKeys = certificates.map(publicKeyOf);
  await Promise.all(
    controlPlanes.map(async (machine) => {
      await installBundle(machine.root, publicKeys);
      await restartNow(machine, KEY_READERS);
    }),
  );
  await waitForHealth(machines, 120);
};
