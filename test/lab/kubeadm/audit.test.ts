import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { askKubeadm } from '../audit/peers.js';
import { audit, datesOn } from '../audit/report.js';
import { KubeadmLab } from './lab.js';
import { KUBEADM, KUBELET_CLIENT, MANIFESTS } from './settings.js';

let lab: KubeadmLab;
/** What takes a fault away again, the last first. */
const undo: (() => Promise<unknown>)[] = [];

const sh = (host: string, script: string): Promise<string> => lab.machine(host).must(['sh', '-ec', script]);

const findings = async (): Promise<readonly string[]> => {
  const cluster = await audit(lab.bastion.clusterFile);
  return cluster.findings.map(({ rule, severity, host, subject }) =>
    [rule, severity, host ?? '-', subject].join(' '),
  );
};

beforeAll(async () => {
  lab = await KubeadmLab.up();
  await lab.restorePristine();
});

afterEach(async () => {
  for (let back = undo.pop(); back; back = undo.pop()) await back();
});

describe('an audit of a cluster that kubeadm made', () => {
  const [first] = KUBEADM.controlPlanes;
  const [worker] = KUBEADM.workers;

  test('finds nothing, and has seen every program on every host', async () => {
    const cluster = await audit(lab.bastion.clusterFile);
    expect(cluster.findings).toEqual([]);
    expect(cluster.notSeen).toEqual([]);
    const all = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet'];
    const seen = cluster.hosts.map(({ name, processes }) => [
      name,
      processes.map(({ component }) => component).sort(),
    ]);
    expect(seen).toEqual([
      ...KUBEADM.controlPlanes.map(({ fqdn }) => [fqdn, all]),
      ...KUBEADM.workers.map(({ fqdn }) => [fqdn, ['kubelet']]),
    ]);
  });

  test('tells the dates that its kubeadm certs check-expiration tells, and those of the kubelets', async () => {
    const cluster = await audit(lab.bastion.clusterFile);
    for (const { name, fqdn } of KUBEADM.controlPlanes) {
      const own = datesOn(cluster, fqdn);
      const { dates } = await askKubeadm(lab.machine(name), 'kubeadm');
      // Ten leafs and three authorities; super-admin.conf is on the first control plane only.
      expect(dates.size).toBe(name === first?.name ? 14 : 13);
      for (const [path, date] of dates) expect(`${path} ${own.get(path) ?? '-'}`).toBe(`${path} ${date}`);
      const more = [...own.keys()].filter((path) => !dates.has(path)).sort();
      expect(more).toEqual([KUBELET_CLIENT, '/var/lib/kubelet/pki/kubelet.crt']);
    }
  });

  test('finds a file in the folder of static pods that is no manifest', async () => {
    const host = first?.name ?? '';
    undo.push(() => sh(host, `rm -f ${MANIFESTS}/NOTES`));
    await sh(host, `echo '# of the last change' >${MANIFESTS}/NOTES`);
    expect(await findings()).toEqual([`stray-manifest warning ${first?.fqdn ?? ''} ${MANIFESTS}/NOTES`]);
  });

  test('finds the certificate of a kubelet that is a file where a link belongs', async () => {
    const host = worker?.name ?? '';
    const kept = '/var/lib/kubelet/kept.pem';
    undo.push(() => sh(host, `rm -f ${KUBELET_CLIENT}; mv ${kept} ${KUBELET_CLIENT}`));
    await sh(
      host,
      `cp -P ${KUBELET_CLIENT} ${kept}; cat ${kept} >${KUBELET_CLIENT}.new; chmod 600 ${KUBELET_CLIENT}.new
      mv ${KUBELET_CLIENT}.new ${KUBELET_CLIENT}`,
    );
    expect(await findings()).toEqual([
      `kubelet-current-is-no-link warning ${worker?.fqdn ?? ''} ${KUBELET_CLIENT}`,
    ]);
  });

  test('finds what a static pod has not loaded, seen through its container', async () => {
    const host = first?.name ?? '';
    const path = '/etc/kubernetes/pki/sa.pub';
    // Times of its last change cannot be put back: the process after it is younger.
    undo.push(() => lab.restorePristine());
    await sh(host, `cp -p ${path} ${path}.new; mv ${path}.new ${path}`);
    expect(await findings()).toEqual([`stale-in-memory warning ${first?.fqdn ?? ''} ${path}`]);
  });
});
