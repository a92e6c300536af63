import { connect } from 'node:net';
import { get } from 'node:http';
import { cfsslAnswers } from './cfssl.js';
import { etcdctlArguments } from './etcdctl.js';
import { KubeClient } from './kube.js';
import type { Machine } from './machine.js';
import { ALL_HOSTS, CLIENT_ACCOUNT, CONTROL_PLANES, LOAD_BALANCER, STATS_PORT } from './settings.js';
import { run } from './shell.js';
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

const getText = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const outgoing = get(url, { timeout: 2000, agent: false }, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      incoming.on('end', () => resolve(text));
    });
    outgoing.on('error', reject).on('timeout', () => outgoing.destroy(new Error(`${url} does not answer`)));
  });

/** What haproxy thinks of its servers: host name → `UP`, `DOWN`, `UP 1/2` and such. */
export const haproxyStates = async (): Promise<ReadonlyMap<string, string>> => {
  const [header = '', ...rows] = (
    await getText(`http://${LOAD_BALANCER.address}:${STATS_PORT}/stats;csv`)
  ).split('\n');
  const columns = header.replace(/^# /, '').split(',');
  const [name, status] = [columns.indexOf('svname'), columns.indexOf('status')];
  const servers = rows
    .map((row) => row.split(','))
    .filter((row) => row[0] === 'apiservers' && row[name] !== 'BACKEND');
  return new Map(servers.map((row) => [row[name] ?? '', row[status] ?? '']));
};

export const waitForCfssl = async (): Promise<void> => {
  await until('cfssl answers', 60, cfsslAnswers);
};

/** True when the controller-manager of some host leads and has made the service accounts. */
const controllersWork = async (kube: KubeClient, address: string): Promise<boolean> => {
  const path = `/api/v1/namespaces/${CLIENT_ACCOUNT.namespace}/serviceaccounts/default`;
  return (await kube.asAdmin(address, path)).status === 200;
};

/** True when every member of etcd answers a read that a majority agrees on. One that was cut off needs its time. */
const etcdAnswers = async (): Promise<true> => {
  await run(etcdctlArguments(['endpoint', 'health']));
  return true;
};

/** Waits until every part of the lab works: SSH, etcd, apiservers, controllers, haproxy's view of all three. */
export const waitForHealth = async (machines: readonly Machine[], seconds: number): Promise<void> => {
  const kube = await KubeClient.open();
  await Promise.all([
    ...ALL_HOSTS.map((host) => until(`${host.name} accepts SSH`, seconds, () => accepts(host.address, 22))),
    ...CONTROL_PLANES.map((host) =>
      until(`the apiserver of ${host.name} is ready`, seconds, () => kube.ready(host.address)),
    ),
    until('every member of etcd is well', seconds, etcdAnswers),
    until('haproxy sees three apiservers', seconds, async () => {
      const states = await haproxyStates();
      return CONTROL_PLANES.every((host) => states.get(host.name) === 'UP');
    }),
    ...machines
      .filter((machine) => machine.spec.role === 'control-plane')
      .map((machine) =>
        until(`the controller-manager of ${machine.spec.name} runs`, seconds, async () => {
          const result = await machine.exec(['systemctl', 'is-active', 'kube-controller-manager.service']);
          return result.exitCode === 0;
        }),
      ),
  ]);
  await Promise.all(
    CONTROL_PLANES.map((host) =>
      until('the controllers have made service accounts', seconds, () => controllersWork(kube, host.address)),
    ),
  );
};
