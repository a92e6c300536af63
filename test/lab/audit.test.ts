import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { FAULTS } from './audit/faults.js';
import { askPeers, installKubeadm } from './audit/peers.js';
import { audit, datesOn } from './audit/report.js';
import { Plant } from './audit/plant.js';
import { clusterFileWith } from './cluster-file.js';
import { Lab } from './lab.js';
import { CONTROL_PLANES } from './settings.js';

let lab: Lab;
let plant: Plant;
/** What stays there for all tests. */
let laid: Plant;
/** Host → the certificate files on it that its processes use, in the sound cluster. */
const used = new Map<string, readonly string[]>();
let alarmsBefore: readonly string[] = [];
const removals: (() => Promise<void>)[] = [];

beforeAll(async () => {
  lab = await Lab.up();
  plant = await Plant.open(lab);
  laid = await Plant.open(lab);
  await lab.restoreFault();
  // Tests before this one may have had files put back, which are newer than their readers then.
  for (const { name } of CONTROL_PLANES) await plant.sh(name, 'systemctl restart etcd.service');
  await lab.waitForHealth();
  await lab.trustEachOther();
  for (const { name } of CONTROL_PLANES) {
    removals.push(await installKubeadm(lab.machine(name)));
    await laid.kubeadmFiles(name);
  }
});
afterAll(async () => {
  for (const remove of removals) await remove();
  await laid.mend();
  await laid.close();
  await plant.close();
});

/** What kubeadm and openssl say of all hosts. */
const alarms = async (): Promise<readonly string[]> => {
  const answers = await Promise.all(
    CONTROL_PLANES.map(async ({ name, fqdn }) => {
      const { alarms: told } = await askPeers(lab.machine(name), used.get(fqdn) ?? []);
      return told.map((each) => `${name}: ${each}`);
    }),
  );
  return answers.flat().sort();
};

describe('certroll audit', () => {
  afterEach(() => plant.mend());

  test('finds nothing in a sound cluster, and has seen all of it', async () => {
    const { findings, items, hosts, notSeen } = await audit(lab.bastion.clusterFile);
    expect(findings).toEqual([]);
    expect(notSeen).toEqual([]);
    const components = hosts.map(({ processes }) => processes.map(({ component }) => component).sort());
    const all = ['etcd', 'kube-apiserver', 'kube-controller-manager'];
    expect(components).toEqual([all, all, all]);
    expect(items.filter(({ onDisk }) => !['present', 'embedded'].includes(onDisk.state))).toEqual([]);
  });

  test('tells the dates that kubeadm certs check-expiration and openssl x509 tell of the same files', async () => {
    const cluster = await audit(lab.bastion.clusterFile);
    for (const { name, fqdn } of CONTROL_PLANES) {
      const own = datesOn(cluster, fqdn);
      const files = [...own.keys()].filter((path) => !path.endsWith('.conf'));
      const { kubeadm, openssl } = await askPeers(lab.machine(name), files);
      // It lists nothing that an audit does not see, and all of what it has a name for.
      expect([...kubeadm.keys()].filter((path) => !own.has(path))).toEqual([]);
      expect(kubeadm.size).toBeGreaterThanOrEqual(12);
      for (const [path, date] of kubeadm) expect(`${path} ${own.get(path) ?? '-'}`).toBe(`${path} ${date}`);
      expect([...openssl.keys()].sort()).toEqual([...files].sort());
      for (const [path, date] of openssl) expect(`${path} ${own.get(path) ?? '-'}`).toBe(`${path} ${date}`);
      used.set(fqdn, files);
    }
    alarmsBefore = await alarms();
  });

  test.each(FAULTS.map((fault) => [fault.name, fault] as const))('%s', async (_name, fault) => {
    const { clusterFile = [] } = fault;
    await fault.plant(plant);
    const { findings } = await audit(await clusterFileWith('audit', clusterFile));
    const found = findings.map(({ rule, severity, host }) => `${rule} ${severity} ${host ?? '-'}`);
    const texts = findings.map(({ rule, text }) => `${rule}: ${text}`).join('\n');
    expect(found.sort(), texts).toEqual([...fault.expected].sort());
    // What is said of the same files by those that look at files alone.
    const told = (await alarms()).filter((each) => !alarmsBefore.includes(each));
    const peers = ['kubeadm', 'openssl'].filter((peer) => told.some((each) => each.includes(` ${peer}: `)));
    console.log(`${fault.name} | ${peers.join(', ') || '-'}`);
    expect(peers, told.join('\n')).toEqual(fault.peers ?? []);
  });
});
