import { beforeAll, describe, expect, test } from 'vitest';
import { Load } from '../load.js';
import { until } from '../wait.js';
import { isNodeReady } from './health.js';
import { KubeadmLab } from './lab.js';
import { KUBEADM, KUBELET_CLIENT, MANIFESTS, NODES } from './settings.js';

describe('a cluster that kubeadm made', () => {
  let lab: KubeadmLab;

  beforeAll(async () => {
    lab = await KubeadmLab.up();
    await lab.restorePristine();
  });

  test('has four nodes, all of them ready', async () => {
    const kube = await lab.kube();
    const [first] = lab.controlPlanes;
    const answer = await kube.asAdmin(first!.address, '/api/v1/nodes');
    const { items } = JSON.parse(answer.body) as { items: { metadata: { name: string } }[] };
    expect(items.map(({ metadata }) => metadata.name).sort()).toEqual(NODES.map(({ name }) => name).sort());
    const ready = await Promise.all(NODES.map((host) => isNodeReady(kube, host)));
    expect(ready).toEqual([true, true, true, true]);
  });

  test('has an apiserver on each control plane that is ready at its own address', async () => {
    const ready = await Promise.all(lab.controlPlanes.map((host) => lab.ready(host.name)));
    expect(ready).toEqual([true, true, true]);
    expect([...(await lab.haproxyStates())].sort()).toEqual(
      lab.controlPlanes.map((host) => [host.name, 'UP']),
    );
  });

  test('accepts a token of each apiserver on every other, since all share one signing key', async () => {
    const matrix = await lab.matrix();
    expect(matrix).toHaveLength(9);
    expect(matrix.map(({ status }) => status)).toEqual(Array(9).fill(200));
    expect(new Set(matrix.map(({ kid }) => kid)).size).toBe(1);
  });

  test('runs its control plane as static pods of a kubelet that was given its certificate by the cluster', async () => {
    for (const { name } of NODES) {
      const { stdout } = await lab.exec(name, ['readlink', KUBELET_CLIENT]);
      expect(stdout).toMatch(/^\/var\/lib\/kubelet\/pki\/kubelet-client-\d{4}-.*\.pem\n$/);
      const kubeconfig = await lab.exec(name, ['cat', '/etc/kubernetes/kubelet.conf']);
      expect(kubeconfig.stdout).toContain(`client-certificate: ${KUBELET_CLIENT}`);
    }
    for (const { name } of lab.controlPlanes) {
      for (const program of ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler']) {
        expect(await lab.staticPod(name, program)).toHaveLength(1);
        expect((await lab.exec(name, ['test', '-s', `${MANIFESTS}/${program}.yaml`])).exitCode).toBe(0);
      }
    }
    for (const { name } of KUBEADM.workers) expect(await lab.staticPod(name, 'kube-apiserver')).toEqual([]);
  });

  test('goes on serving while a kubelet is stopped, and the kubelet finds its pods again', async () => {
    const [host] = lab.controlPlanes;
    const before = await lab.staticPod(host!.name, 'kube-apiserver');
    await lab.stopKubelet(host!.name);
    expect(await lab.ready(host!.name)).toBe(true);
    await lab.startKubelet(host!.name);
    await lab.waitForHealth();
    expect(await lab.staticPod(host!.name, 'kube-apiserver')).toEqual(before);
  });

  test('loses no request behind the load balancer while a changed manifest replaces an apiserver', async () => {
    const [host] = lab.controlPlanes;
    const [before] = await lab.staticPod(host!.name, 'kube-apiserver');
    const load = await Load.start({ maxSeconds: 240, tickMs: 200, flavour: 'kubeadm' });
    const manifest = `${MANIFESTS}/kube-apiserver.yaml`;
    // Staged beside the folder, not in it: a kubelet runs whatever lies there.
    const staged = '/etc/kubernetes/kube-apiserver.lab';
    const edit = `sed 's/^  annotations:$/&\\n    lab.example.net\\/changed: now/' ${manifest} > ${staged} && mv ${staged} ${manifest}`;
    expect((await lab.exec(host!.name, ['sh', '-c', edit])).exitCode).toBe(0);
    await until('a new apiserver runs', 120, async () => {
      const processes = await lab.staticPod(host!.name, 'kube-apiserver');
      return processes.length === 1 && processes[0]?.containerId !== before?.containerId;
    });
    await lab.waitForHealth();
    const { balanced, calico, direct, mishaps } = await load.stop();
    expect(mishaps.filter((each) => each.client !== 'mint')).toEqual([]);
    expect(balanced.ok).toBe(balanced.requests);
    expect(calico.ok).toBe(calico.requests);
    expect(direct.unauthorized).toBe(0);
    // The apiserver was really away for a while.
    expect(direct.unreachable).toBeGreaterThan(0);
  });

  test('is as it was made after pristine, whatever was done to it', async () => {
    const [host] = lab.controlPlanes;
    const kids = await lab.jwks(host!.name);
    await lab.etcdctl(['put', '/certroll/lab/left-over', 'x']);
    await lab.exec(host!.name, ['sh', '-c', 'rm -r /etc/kubernetes/pki /var/lib/kubelet/pki']);
    await lab.poweroff(KUBEADM.workers[0]!.name);
    await lab.restorePristine();
    expect(await lab.etcdctl(['get', '--prefix', '/certroll/', '--keys-only'])).toBe('');
    expect(await lab.jwks(host!.name)).toEqual(kids);
    expect(await lab.state(KUBEADM.workers[0]!.name)).toBe('on');
  });
});
