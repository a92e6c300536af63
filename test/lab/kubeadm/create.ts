import { createHash, randomBytes, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Image } from '../build/images.js';
import { placeCommonFiles } from '../common-files.js';
import { enable, place } from '../files.js';
import { HAPROXY_UNIT, haproxyFiles } from '../haproxy.js';
import { KubeClient } from '../kube.js';
import type { Machine } from '../machine.js';
import { seedObjects } from '../seed.js';
import { run, say } from '../shell.js';
import { until } from '../wait.js';
import { completeBastion } from './bastion.js';
import { initConfig, joinConfig, type JoinSecrets } from './config.js';
import { waitForNodes } from './health.js';
import { NODE_UNITS, nodeFiles } from './node-files.js';
import { bindsOf, type NodePrograms } from './programs.js';
import { KUBEADM } from './settings.js';

const CONFIG = '/root/kubeadm.yaml';
const CA = '/etc/kubernetes/pki/ca.crt';

const createSecrets = (): JoinSecrets => {
  const hex = (bytes: number): string => randomBytes(bytes).toString('hex');
  return { token: `${hex(3)}.${hex(8)}`, certificateKey: hex(32) };
};

/** What a host that joins is told to expect, so that it need not believe the first who answers. */
const hashOf = (ca: string): string => {
  const spki = new X509Certificate(ca).publicKey.export({ type: 'spki', format: 'der' });
  return `sha256:${createHash('sha256').update(spki).digest('hex')}`;
};

const furnishNode = async (machine: Machine, pauseImage: string): Promise<void> => {
  await machine.mount();
  await placeCommonFiles(KUBEADM, machine);
  for (const file of nodeFiles(machine.spec, pauseImage)) await place(machine.root, file);
  for (const unit of NODE_UNITS) await enable(machine.root, unit);
};

/** A worker runs no static pods: it needs nothing but the first process of its pods. */
const importImages = async (machine: Machine, images: readonly Image[]): Promise<void> => {
  await until(`containerd of ${machine.spec.name} answers`, 60, async () => {
    return (await machine.exec(['ctr', 'version'])).exitCode === 0;
  });
  const wanted = images.filter(({ program }) => machine.spec.role === 'control-plane' || program === 'pause');
  for (const { archive } of wanted) {
    const command = await machine.enter(['ctr', '--namespace=k8s.io', 'images', 'import', '-']);
    await run(command, { inputFile: archive });
  }
};

/** Runs kubeadm by a configuration that holds secrets: it comes in a file for root, and goes with it. */
const kubeadm = async (machine: Machine, config: string, argv: readonly string[]): Promise<void> => {
  await place(machine.root, { path: CONFIG, content: config, mode: 0o600 });
  const result = await machine.exec(['kubeadm', ...argv, '--config', CONFIG]);
  await machine.must(['rm', CONFIG]);
  if (result.exitCode === 0) return;
  const said = [result.stdout, result.stderr].join('\n').trim().split('\n').slice(-25).join('\n');
  throw new Error(`${machine.spec.name}: kubeadm ${argv.join(' ')} ended with ${result.exitCode}:\n${said}`);
};

/** The load balancer checks the apiservers' certificates, so it needs the authority before there is an apiserver. */
const startBalancer = async (balancer: Machine, ca: string): Promise<void> => {
  for (const file of haproxyFiles(KUBEADM, ca)) await place(balancer.root, file);
  await enable(balancer.root, HAPROXY_UNIT);
  await balancer.must(['systemctl', 'daemon-reload']);
  await balancer.must(['systemctl', 'start', HAPROXY_UNIT]);
};

/**
 * Makes the cluster on hosts that have never run: kubeadm init on the first control plane, then kubeadm join
 * on the others, as kubeadm's own documentation tells it. Leaves the hosts running. The machines are: the load
 * balancer, the control planes, the workers.
 */
export const createCluster = async (
  machines: readonly Machine[],
  programs: NodePrograms,
  images: readonly Image[],
): Promise<void> => {
  const [balancer, first, ...others] = machines;
  if (!balancer || !first) throw new Error('The lab needs a load balancer and a control plane');
  const pause = images.find(({ program }) => program === 'pause')?.name ?? '';
  await balancer.mount();
  await placeCommonFiles(KUBEADM, balancer);
  await Promise.all([first, ...others].map((machine) => furnishNode(machine, pause)));
  await Promise.all(machines.map((machine) => machine.start(machine === balancer ? {} : bindsOf(programs))));
  say('hosts are started; importing images');
  await Promise.all([first, ...others].map((machine) => importImages(machine, images)));

  const secrets = createSecrets();
  const config = initConfig(first.spec, secrets);
  await kubeadm(first, config, ['init', 'phase', 'certs', 'ca']);
  const ca = await readFile(join(first.root, CA), 'utf8');
  await startBalancer(balancer, ca);
  say(`kubeadm init on ${first.spec.name}`);
  await kubeadm(first, config, ['init', '--upload-certs']);
  for (const machine of others) {
    say(`kubeadm join on ${machine.spec.name}`);
    await kubeadm(machine, joinConfig(machine.spec, secrets, hashOf(ca)), ['join']);
  }
  await completeBastion(programs, (name) => machines.find(({ spec }) => spec.name === name)?.root ?? '');
  await waitForNodes(machines, 240);
  await seedObjects(await KubeClient.open({ bastion: KUBEADM.bastion }), first.spec);
};
