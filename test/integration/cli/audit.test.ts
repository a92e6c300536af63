import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auditReportSchema, type AuditReport, type ClusterReport } from '../../../src/audit/report.js';
import { certroll, type Finished } from '../../support/certroll.js';
import { appears } from '../../support/failure.js';
import { DAY, TestPki, type TestCert } from '../../support/pki.js';
import { freePort } from '../../support/ports.js';
import { TestSshd } from '../../support/sshd.js';

/**
 * A host that is this machine, over a real sshd, with processes that are called kube-apiserver and kube-scheduler and
 * have the flags of one; openssl serves the port of the first. A second host has an SSH key that nobody knows.
 */
let sshd: TestSshd;
let pki: TestPki;
let dir: string;
let clusterFile: string;
let leaf: TestCert;
let renewed: TestCert;
const children: ChildProcess[] = [];

const start = async (command: string, args: readonly string[]): Promise<void> => {
  const child = spawn(command, args, { stdio: 'ignore', detached: true });
  children.push(child);
  await once(child, 'spawn');
};

const program = async (name: string, flags: readonly string[]): Promise<void> => {
  const path = join(dir, name);
  const ready = join(dir, `${name}.ready`);
  writeFileSync(path, `#!/bin/sh\n: >'${ready}'\nsleep 600\n`);
  chmodSync(path, 0o755);
  await start(path, flags);
  await appears(ready);
};

beforeAll(async () => {
  [sshd, pki] = await Promise.all([TestSshd.start(), TestPki.create()]);
  dir = join(pki.dir, 'host');
  mkdirSync(dir);
  const ca = await pki.certificate('ca', { ca: true });
  const other = await pki.certificate('other', { ca: true });
  const sans = ['IP:10.0.0.1'];
  leaf = await pki.certificate('leaf', { issuer: ca, sans, to: new Date(Date.now() + 3 * DAY) });
  renewed = await pki.certificate('renewed', { issuer: ca, sans, keyFile: leaf.keyFile });
  const sa = await pki.certificate('sa', { issuer: ca, algorithm: 'rsa-2048' });
  const port = await freePort();
  await start('openssl', [
    ...['s_server', '-accept', `127.0.0.1:${port}`, '-cert', leaf.certFile, '-key', leaf.keyFile, '-quiet'],
    ...['-CAfile', ca.certFile, '-verify', '1'],
  ]);
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const config = (client: TestCert): string => `apiVersion: v1
kind: Config
current-context: c
clusters:
- cluster:
    certificate-authority-data: ${base64(other.pem)}
    server: https://127.0.0.1:${port}
  name: c
contexts:
- context:
    cluster: c
    user: u
  name: c
users:
- name: u
  user:
    client-certificate-data: ${base64(client.pem)}
    client-key-data: ${base64(client.key)}
`;
  writeFileSync(join(dir, 'scheduler.conf'), config(leaf), { mode: 0o600 });
  await program('kube-apiserver', [
    ...[`--secure-port=${port}`, '--bind-address=127.0.0.1', '--advertise-address=10.0.0.1'],
    ...[`--tls-cert-file=${renewed.certFile}`, `--tls-private-key-file=${leaf.keyFile}`],
    ...[`--client-ca-file=${ca.certFile}`, `--service-account-signing-key-file=${sa.keyFile}`],
    `--service-account-key-file=${sa.certFile}`,
  ]);
  await program('kube-scheduler', ['--secure-port=0', `--kubeconfig=${join(dir, 'scheduler.conf')}`]);
  // Changed after it was read: embedded data takes a restart. The kernel tells a start to some hundredths of a second.
  await new Promise((resolve) => setTimeout(resolve, 300));
  writeFileSync(join(dir, 'scheduler.conf'), config(leaf), { mode: 0o600 });
  await sshd.file('kubeconfig', config(leaf));
  clusterFile = await sshd.file(
    'cluster.yaml',
    `name: prod
controlPlanes: { hosts: '127.0.0.1' }
nodes: { hosts: 'localhost' }
ssh: { config: ./ssh_config, port: ${sshd.port}, identityFiles: [./user], knownHosts: [./known_hosts], agent: false, sudo: false }
etcd: { endpoints: ['https://127.0.0.1:1'] }
api: { kubeconfig: ./kubeconfig, port: ${await freePort()}, timeout: 2s }
`,
  );
  chmodSync(join(sshd.dir, 'user'), 0o600);
}, 120_000);
afterAll(async () => {
  // With what they have started.
  for (const { pid } of children) if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  await sshd.stop();
  await pki.remove();
});

const audit = async (...args: readonly string[]): Promise<Finished> =>
  certroll(['audit', '-c', clusterFile, ...args]);
const reportOf = ({ stdout }: Finished): AuditReport => auditReportSchema.parse(JSON.parse(stdout));
const clusterOf = (finished: Finished): ClusterReport => reportOf(finished).clusters[0]!;
/** Of our own processes: others of that name may run on this machine. */
const ours = ({ items }: ClusterReport) => items.filter(({ path }) => path.startsWith(pki.dir));

describe('certroll audit', () => {
  it('tells disk, served and loaded apart, whom nobody vouches for, and what it could not see', async () => {
    const finished = await audit('--format', 'json');
    expect(finished.exitCode, finished.stderr).toBe(3);
    const cluster = clusterOf(finished);
    const serving = ours(cluster).find(({ role }) => role === 'serving certificate')!;
    expect(serving.onDisk.certificates[0]?.subject).toBe('CN=renewed');
    expect(serving.served?.certificates[0]?.subject).toBe('CN=leaf');
    expect(serving.loaded).toEqual({ state: 'stale', how: 'served' });
    const client = ours(cluster).find(({ role }) => role === 'API client certificate')!;
    expect(client).toMatchObject({ onDisk: { state: 'embedded' }, loaded: { state: 'stale' } });
    expect(client.onDisk.certificates[0]?.subject).toBe('CN=leaf');
    const rules = new Set(
      cluster.findings.filter(({ host }) => host === '127.0.0.1').map(({ rule }) => rule),
    );
    for (const rule of ['stale-in-memory', 'certificate-expiring', 'chain-broken-on-disk', 'not-seen'])
      expect([...rules]).toContain(rule);
    expect(rules).not.toContain('key-mismatch');
    const unseen = cluster.findings.filter(({ rule }) => rule === 'not-seen').map(({ text }) => text);
    expect(unseen.some((text) => text.includes('localhost'))).toBe(true);
    expect(unseen.some((text) => /kube-apiserver|GET/.test(text))).toBe(true);
  });

  it('shows no private key and changes no file', async () => {
    const files = (): readonly (readonly [string, number, string])[] =>
      readdirSync(dir).map((name) => [
        name,
        statSync(join(dir, name)).ctimeMs,
        readFileSync(join(dir, name), 'utf8'),
      ]);
    const before = files();
    const outputs: Finished[] = [];
    for (const format of ['json', 'table', 'html', 'prometheus'])
      outputs.push(await audit('--format', format));
    expect(files()).toEqual(before);
    const secrets = leaf.key.split('\n').filter((line) => line.length > 20 && !line.startsWith('-'));
    // The last line of an EC key ends with its public half, which is public.
    for (const { stdout, stderr } of outputs) expect(stdout + stderr).not.toContain(secrets[0]);
  });

  it('writes to a file at once, and leaves nothing beside it', async () => {
    const folder = join(dir, 'out');
    mkdirSync(folder);
    const finished = await audit('--format', 'prometheus', '-o', join(folder, 'certroll.prom'));
    expect(finished).toMatchObject({ exitCode: 3, stdout: '' });
    expect(readdirSync(folder)).toEqual(['certroll.prom']);
    expect(statSync(join(folder, 'certroll.prom')).mode & 0o777).toBe(0o644);
    const nowhere = await audit('-o', join(folder, 'no/such'));
    expect(nowhere.exitCode).toBe(1);
    expect(nowhere.stderr).toContain('cannot write');
  });

  it('speaks to Nagios in its own exit statuses, and to cron in those of certroll', async () => {
    const nagios = await audit('--format', 'nagios');
    expect(nagios.exitCode).toBe(2);
    expect(nagios.stdout).toMatch(/^CERTROLL CRITICAL - prod: [^\n]+$/);
    const wrong = await certroll(['audit', '-c', '/no/such', '--format', 'nagios']);
    expect(wrong).toMatchObject({ exitCode: 3 });
    expect(wrong.stdout).toMatch(/^CERTROLL UNKNOWN - /);
    expect((await certroll(['audit', '-c', '/no/such'])).exitCode).toBe(2);
    expect((await audit('--fail-on', 'nonsense')).exitCode).toBe(2);
  });

  it('takes a folder and a fleet file; a cluster file that is wrong is a finding', async () => {
    const folder = join(sshd.dir, 'clusters');
    mkdirSync(folder);
    writeFileSync(join(folder, 'wrong.yaml'), 'name: wrong\n');
    writeFileSync(join(folder, 'note.txt'), 'no cluster');
    const fleet = await sshd.file('fleet.yaml', 'clusters: [cluster.yaml, clusters]\n');
    const finished = await certroll(['audit', '-c', fleet, '--json']);
    expect(finished.exitCode).toBe(3);
    const report = reportOf(finished);
    expect(report.clusters.map(({ name }) => name)).toEqual(['prod', join(folder, 'wrong.yaml')]);
    expect(report.clusters[1]?.findings).toMatchObject([{ rule: 'not-seen', severity: 'critical' }]);
    expect(existsSync(join(sshd.dir, 'state'))).toBe(false);
  });
});
