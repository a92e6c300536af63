import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { auditReportSchema } from '../../src/audit/report.js';
import { loadCluster } from '../../src/cluster/load.js';
import type { DoctorReport } from '../../src/doctor/report.js';
import { certroll, type Finished } from '../support/certroll.js';
import { clusterFileWith } from './cluster-file.js';
import { Lab } from './lab.js';
import { BASTION, CONTROL_PLANES } from './settings.js';

let lab: Lab;
/** Written beside the operator's own file, where the files that it needs lie. */
const file = join(BASTION.folder, 'found.yaml');
const ssh = [
  ...['--ssh-config', BASTION.sshConfig, '--identity', BASTION.identity],
  ...['--known-hosts', BASTION.knownHosts],
];

const failuresOf = (finished: Finished): readonly string[] =>
  (JSON.parse(finished.stdout) as DoctorReport).groups.flatMap(({ name, checks }) =>
    checks.flatMap(({ id, state }) =>
      state === 'failed' || state === 'warning' ? [`${name.split('.')[0] ?? ''} ${id}`] : [],
    ),
  );

beforeAll(async () => {
  lab = await Lab.up();
  await lab.restoreFault();
  await lab.trustEachOther();
  await rm(file, { force: true });
});
afterAll(() => rm(file, { force: true }));

describe('certroll init', () => {
  test('writes, from a kubeconfig, a file with which doctor is green and audit runs as it stands', async () => {
    const args = ['init', '--kubeconfig', BASTION.kubeconfig, '--name', 'lab', '-o', file, ...ssh];
    const written = await certroll(args);
    // Nobody on the hosts says which PKI their certificates are of.
    expect(written.stderr.trim().split('\n')).toEqual([
      expect.stringMatching(/^not found out: issuer\.type: /) as string,
    ]);
    expect(written).toMatchObject({ exitCode: 3, stdout: file });
    const [found, own] = await Promise.all([loadCluster(file), loadCluster(lab.bastion.clusterFile)]);
    expect(found.hosts).toEqual(own.hosts);
    expect(found.services).toEqual(own.services);
    expect(found.api).toEqual(own.api);
    expect(new Set(found.etcd.endpoints)).toEqual(new Set(own.etcd.endpoints));
    expect([found.etcd.ca, found.etcd.cert, found.etcd.key]).toEqual([
      own.etcd.ca,
      own.etcd.cert,
      own.etcd.key,
    ]);
    expect(found.serviceAccounts.mode).toBe('per-host');
    const doctor = await certroll(['doctor', '-c', file, '--json']);
    expect(failuresOf(doctor)).toEqual([]);
    expect(doctor.exitCode, doctor.stderr).toBe(0);
    const audit = await certroll(['audit', '-c', file, '--json']);
    const [cluster] = auditReportSchema.parse(JSON.parse(audit.stdout)).clusters;
    expect(cluster?.notSeen).toEqual([]);
    expect(cluster?.hosts).toHaveLength(3);
  });

  test('run again writes nothing, and says whether the file is still right', async () => {
    const before = await readFile(file, 'utf8');
    const again = await certroll(['init', '-o', file]);
    expect(again, again.stderr).toMatchObject({ exitCode: 0, stdout: `${file}: the cluster is as it says.` });
    const edited = before
      .replace('kubemaster[1001-1003]', 'kubemaster[1001-1002]')
      .replace('systemd: kube-apiserver.service', 'systemd: apiserver.service # by hand')
      .replace(/ {4}- https:\/\/10\.77\.0\.13:2379\n/, '');
    await writeFile(file, edited);
    const seen = await certroll(['init', '-o', file]);
    expect(seen.exitCode).toBe(3);
    for (const words of [
      /controlPlanes\.hosts +kubemaster\[1001-1002\]\S* +.*runs on kubemaster1003/,
      /etcd\.endpoints/,
      /services\.apiserver +\{"systemd":"apiserver\.service"\} +\{"systemd":"kube-apiserver\.service"\}/,
    ])
      expect(seen.stdout).toMatch(words);
    expect(await readFile(file, 'utf8')).toBe(edited);
    const anew = await certroll([
      ...['init', '--kubeconfig', BASTION.kubeconfig, '--name', 'lab', '-o', file, '--force', ...ssh],
    ]);
    expect(anew.exitCode).toBe(3);
    expect(await loadCluster(file)).toMatchObject({
      services: { apiserver: { systemd: 'kube-apiserver.service' } },
    });
  });

  test('finds, from one host on, the others; what this machine lacks it tells, and copies no key', async () => {
    const folder = await mkdtemp(join(BASTION.folder, 'empty-'));
    try {
      const output = join(folder, 'prod.yaml');
      const host = CONTROL_PLANES[1]?.fqdn ?? '';
      const written = await certroll(['init', host, '-o', output, ...ssh]);
      expect(written.exitCode).toBe(3);
      expect(written.stderr).toMatch(/not found out: api\.kubeconfig: no kubeconfig was given/);
      expect(written.stderr).toMatch(/not found out: etcd\.cert: .*sudo cat \S+\/etcd\/ca\.crt/);
      const text = await readFile(output, 'utf8');
      expect(text).toContain('hosts: kubemaster[1001-1003].lab.example.net');
      expect(text).not.toContain('PRIVATE KEY');
      expect((await stat(output)).mode & 0o777).toBe(0o644);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('certroll doctor', () => {
  test.each([
    [
      'a unit that is not there',
      [/systemd: kube-apiserver\.service/, 'systemd: apiserver.service'],
      'kube-apiserver',
    ],
    ['a user whose sudo wants a password', [/user: certroll/, 'user: limited'], 'sudo'],
    ['a name on no certificate', [/serverName: \S+ \}/, 'serverName: kubernetes.wrong }'], 'api'],
  ] as const)('finds %s, on each host and nothing else', async (_what, change, id) => {
    const broken = await clusterFileWith('doctor', [change]);
    const doctor = await certroll(['doctor', '-c', broken, '--json']);
    expect(failuresOf(doctor)).toEqual(CONTROL_PLANES.map(({ name }) => `${name} ${id}`));
    expect(doctor.exitCode).toBe(1);
  });

  test('is green with the file of the operator', async () => {
    const doctor = await certroll(['doctor', '-c', lab.bastion.clusterFile, '--json']);
    expect(failuresOf(doctor)).toEqual([]);
    expect(doctor.exitCode).toBe(0);
  });
});
