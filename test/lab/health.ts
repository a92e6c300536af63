import { connect } from 'node:net';
import { cfsslAnswers } from './cfssl.js';
import { etcdctlArguments } from './etcdctl.js';
import { haproxyStates } from './haproxy.js';
import { KubeClient } from './kube.js';
import type { Machine } from './machine.js';
import { CLIENT_ACCOUNT, SYSTEMD } from './settings.js';
import { run } from './shell.js';
import { hostsOf, type Topology } from './topology.js';
import { until } from './wait.js';

/** True when something accepts connections there. */
const accepts = (address: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: address, port, timeout: 1000 });
    const finish = (answer: boolean) => (): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', finish(true)).once('error', finish(false)).once('timeout', finish(false));
  });

export const waitForCfssl = async (): Promise<void> => {
  await until('cfssl answers', 60, cfsslAnswers);
};

/** True when the controller-manager of some host leads and has made the service accounts. */
const controllersWork = async (kube: KubeClient, address: string): Promise<boolean> => {
  const path = `/api/v1/namespaces/${CLIENT_ACCOUNT.namespace}/serviceaccounts/default`;
  return (await kube.asAdmin(address, path)).status === 200;
};

/** True when every member of etcd answers a read that a majority agrees on. One that was cut off needs its time. */
const etcdAnswers = async (lab: Topology): Promise<true> => {
  await run(etcdctlArguments(lab, ['endpoint', 'health']));
  return true;
};

/** Waits for what every flavour has: SSH, apiservers, etcd, haproxy's view of all apiservers. */
export const waitForShared = async (lab: Topology, kube: KubeClient, seconds: number): Promise<void> => {
  await Promise.all([
    ...hostsOf(lab).map((host) =>
      until(`${host.name} accepts SSH`, seconds, () => accepts(host.address, 22)),
    ),
    ...lab.controlPlanes.map((host) =>
      until(`the apiserver of ${host.name} is ready`, seconds, () => kube.ready(host.address)),
    ),
    until('every member of etcd is well', seconds, () => etcdAnswers(lab)),
    until('haproxy sees all apiservers', seconds, async () => {
      const states = await haproxyStates(lab);
      return lab.controlPlanes.every((host) => states.get(host.name) === 'UP');
    }),
  ]);
};

/** Waits until every apiserver shows the service accounts that the controllers make. */
export const waitForControllers = async (lab: Topology, kube: KubeClient, seconds: number): Promise<void> => {
  await Promise.all(
    lab.controlPlanes.map((host) =>
      until('the controllers have made service accounts', seconds, () => controllersWork(kube, host.address)),
    ),
  );
};

/** Waits until every part of the systemd lab works. */
export const waitForHealth = async (machines: readonly Machine[], seconds: number): Promise<void> => {
  const kube = await KubeClient.open();
  await Promise.all([
    waitForShared(SYSTEMD, kube, seconds),
    ...machines
      .filter((machine) => machine.spec.role === 'control-plane')
      .map((machine) =>
        until(`the controller-manager of ${machine.spec.name} runs`, seconds, async () => {
          const result = await machine.exec(['systemctl', 'is-active', 'kube-controller-manager.service']);
          return result.exitCode === 0;
        }),
      ),
  ]);
  await waitForControllers(SYSTEMD, kube, seconds);
};
