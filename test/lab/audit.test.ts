import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { auditReportSchema, type ClusterReport } from '../../src/audit/report.js';
import { certroll } from '../support/certroll.js';
import { FAULTS } from './audit/faults.js';
import { Plant } from './audit/plant.js';
import { clusterFileWith } from './cluster-file.js';
import { Lab } from './lab.js';
import { CONTROL_PLANES } from './settings.js';

let lab: Lab;
let plant: Plant;

const audit = async (clusterFile: string): Promise<ClusterReport> => {
  const finished = await certroll(['audit', '-c', clusterFile, '--format', 'json']);
  const [cluster] = auditReportSchema.parse(JSON.parse(finished.stdout)).clusters;
  if (!cluster) throw new Error(`no cluster in the report: ${finished.stderr}`);
  return cluster;
};

beforeAll(async () => {
  lab = await Lab.up();
  plant = await Plant.open(lab);
  await lab.restoreFault();
  // Tests before this one may have had files put back, which are newer than their readers then.
  for (const { name } of CONTROL_PLANES) await plant.sh(name, 'systemctl restart etcd.service');
  await lab.waitForHealth();
  await lab.trustEachOther();
});
afterAll(() => plant.close());

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

  test.each(FAULTS.map((fault) => [fault.name, fault] as const))('%s', async (_name, fault) => {
    const { clusterFile = [] } = fault;
    await fault.plant(plant);
    const { findings } = await audit(await clusterFileWith('audit', clusterFile));
    const found = findings.map(({ rule, severity, host }) => `${rule} ${severity} ${host ?? '-'}`);
    const texts = findings.map(({ rule, text }) => `${rule}: ${text}`).join('\n');
    expect(found.sort(), texts).toEqual([...fault.expected].sort());
  });
});
