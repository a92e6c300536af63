import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findEtcdFiles } from '../../../src/run/init/etcd-files.js';
import { Playground } from '../../playground/playground.js';
import { realApiserver } from '../../playground/settings.js';
import { certroll } from '../../support/certroll.js';
import { TestEtcd } from '../../support/etcd.js';
import { tempFolder } from '../../support/temp.js';

const folder = tempFolder();
let playground: Playground;

beforeAll(async () => {
  playground = await Playground.up({ dir: await mkdtemp(join(tmpdir(), 'cr-')), maxLife: 900 });
}, 300_000);
afterAll(async () => playground.down());

describe('certroll init with a cluster file that is there', () => {
  it('says that the cluster is as it says, and writes nothing', async () => {
    const before = await readFile(playground.clusterFile, 'utf8');
    const finished = await certroll(['init', '-o', playground.clusterFile]);
    expect(finished, finished.stderr).toMatchObject({ exitCode: 0 });
    expect(finished.stdout).toContain('the cluster is as it says');
    expect(await readFile(playground.clusterFile, 'utf8')).toBe(before);
  });

  it('shows what it says otherwise: a port, a server name, a mode, a bundle', async () => {
    const [first] = playground.hosts;
    const file = await playground.clusterFileWith(
      'differs',
      [new RegExp(`${first.name}: \\d+`), `${first.name}: 6444`],
      [/serverName: kubernetes\.default\.svc/, 'serverName: other.svc'],
      [/^issuer:/m, 'serviceAccounts: { mode: shared, bundle: /no/such.pem }\nissuer:'],
    );
    const before = await readFile(file, 'utf8');
    const { exitCode, stdout } = await certroll(['init', '-o', file]);
    expect(exitCode).toBe(3);
    for (const row of [
      new RegExp(`api\\.ports\\.${first.name} +6444 +${await first.apiPort()} on ${first.name}`),
      /api\.serverName +other\.svc +not on the certificates .*kubernetes\.default\.svc/,
      /serviceAccounts\.mode +shared +per-host/,
      /serviceAccounts\.bundle +\/no\/such\.pem +no --service-account-key-file on kubemaster\[1001-1003\]/,
    ])
      expect(stdout).toMatch(row);
    expect(await readFile(file, 'utf8')).toBe(before);
  });

  it('does not say that all is well when a host could not be looked at', async () => {
    const text = await readFile(join(playground.dir, 'ssh_config'), 'utf8');
    const config = folder.write('ssh_config', text.replace(/Port \d+/, 'Port 1'));
    const file = await playground.clusterFileWith('unseen', [/\.\/ssh_config/, config]);
    const { exitCode, stdout, stderr } = await certroll(['init', '-o', file]);
    expect(exitCode).toBe(3);
    expect(stderr).toMatch(/not seen: kubemaster1001\S+ could not be looked at/);
    expect(stdout).toContain('what could be seen is as it says; the rest is not known');
  });
});

describe('certroll init', () => {
  it.each([
    ['nothing to start from', [], /there is nothing to start from/],
    ['a name that is none', ['cp1', '--name', 'Prod_1'], /'Prod_1' is not the name of a cluster/],
    ['a kubeconfig that is not there', ['--kubeconfig', '/no/such'], /cannot use the kubeconfig \/no\/such/],
    ['a port that is none', ['cp1', '--ssh-port', '0'], /a whole number from 1 to 65535/],
    ['--systemd without a cluster file', ['--systemd'], /'-c, --cluster <file>' not specified/],
  ])('refuses %s with exit 2, and writes nothing', async (_what, words, message) => {
    const cwd = await mkdtemp(join(folder.path, 'cwd-'));
    const finished = await certroll(['init', ...words], { cwd });
    expect(finished.stderr).toMatch(message);
    expect(finished.exitCode).toBe(2);
    expect(await readdir(cwd)).toEqual([]);
  });

  it.skipIf(realApiserver() !== undefined)('writes no file when it finds no kube-apiserver', async () => {
    const output = join(folder.path, 'none.yaml');
    const finished = await certroll([
      ...['init', playground.hosts[0].name, '-o', output],
      ...['--ssh-config', join(playground.dir, 'ssh_config')],
    ]);
    expect(finished.exitCode).toBe(1);
    expect(finished.stderr).toMatch(/no kube-apiserver was found; kubemaster1001\S+: no kube-apiserver runs/);
    expect(existsSync(output)).toBe(false);
  });
});

describe('the client files of etcd', () => {
  let etcd: TestEtcd;
  beforeAll(async () => {
    etcd = await TestEtcd.start(1);
  });
  afterAll(async () => etcd.stop());
  const find = async (base: string, endpoints = etcd.endpoints) =>
    findEtcdFiles(base, endpoints, () => undefined);

  it('are a CA and a pair that etcd itself lets in', async () => {
    const { files } = await find(etcd.pki.dir);
    expect(files).toMatchObject({ ca: './ca.crt', memberUrls: etcd.endpoints });
    expect(files?.cert?.replace('.crt', '')).toBe(files?.key?.replace('.key', ''));
  });

  it('are none where keys are for all to read, nothing lies there, or nobody answers', async () => {
    const names = (await readdir(etcd.pki.dir)).filter((name) => name.endsWith('.key'));
    for (const name of names) await chmod(etcd.pki.path(name), 0o644);
    expect(await find(etcd.pki.dir)).toMatchObject({
      files: undefined,
      note: expect.stringContaining('no client certificate with its key (mode 600)') as string,
    });
    for (const name of names) await chmod(etcd.pki.path(name), 0o600);
    expect((await find(folder.path)).note).toMatch(/no CA beside the cluster file is that of etcd/);
    expect((await find(etcd.pki.dir, ['https://127.0.0.1:1'])).note).toMatch(/no etcd answers/);
    expect(await find(etcd.pki.dir, ['http://127.0.0.1:1'])).toEqual({ files: undefined });
  });
});
