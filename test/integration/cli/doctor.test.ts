import { chmod, copyFile, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Check } from '../../../src/doctor/check.js';
import type { DoctorReport } from '../../../src/doctor/report.js';
import { Playground } from '../../playground/playground.js';
import { certroll } from '../../support/certroll.js';
import { DAY, TestPki, type TestCert } from '../../support/pki.js';
import { freePort } from '../../support/ports.js';
import { sshKeygen } from '../../support/sshd.js';

/** Real sshds and a real etcd; one thing is broken at a time, and exactly that is to be found. */
let playground: Playground;
let pki: TestPki;
let names: readonly string[];

interface Seen {
  readonly exitCode: number | undefined;
  readonly checks: readonly (Check & { readonly group: string })[];
  /** `GROUP ID` of what failed, hosts by their last digit. */
  readonly failed: readonly string[];
  readonly warnings: readonly string[];
  /** What failed is to be done about, by the same names. */
  readonly advice: string;
  readonly text: string;
}

const doctor = async (clusterFile: string): Promise<Seen> => {
  const finished = await certroll(['doctor', '-c', clusterFile, '--json']);
  expect(finished.stderr).not.toMatch(/defect|TypeError/);
  const report = JSON.parse(finished.stdout) as DoctorReport;
  const checks = report.groups.flatMap(({ name, checks: list }) => {
    const group = /^kubemaster100(\d)/.exec(name)?.[1] ?? name;
    return list.map((check) => ({ ...check, group }));
  });
  const of = (state: Check['state']): readonly (Check & { readonly group: string })[] =>
    checks.filter((check) => check.state === state);
  const failed = of('failed');
  for (const check of of('skipped'))
    expect(failed.map(({ id }) => id)).toContain(check.state === 'skipped' ? check.blockedBy : undefined);
  return {
    exitCode: finished.exitCode,
    checks,
    failed: failed.map(({ group, id }) => `${group} ${id}`),
    warnings: of('warning').map(({ group, id }) => `${group} ${id}`),
    advice: failed.map((check) => (check.state === 'failed' ? check.advice : '')).join('\n'),
    text: failed.map(({ text }) => text).join('\n'),
  };
};

const skippedOn = ({ checks }: Seen, group: string): readonly string[] =>
  checks.filter((check) => check.group === group && check.state === 'skipped').map(({ id }) => id);

/** A kubeconfig of that client certificate; a cluster file that names it. */
const withClient = async (name: string, { certFile, keyFile }: TestCert): Promise<string> => {
  const text = await readFile(join(playground.dir, 'kubeconfig'), 'utf8');
  const file = `kubeconfig-${name}`;
  await writeFile(
    join(playground.dir, file),
    text.replace('pki/admin.crt', certFile).replace('pki/admin.key', keyFile),
    { mode: 0o600 },
  );
  return playground.clusterFileWith(name, [/kubeconfig: \.\/kubeconfig/, `kubeconfig: ./${file}`]);
};

const clientCa = async (): Promise<TestCert> => {
  const [certFile, keyFile] = [playground.pki('ca.crt'), playground.pki('ca.key')];
  return {
    ...{ certFile, keyFile },
    pem: await readFile(certFile, 'utf8'),
    key: await readFile(keyFile, 'utf8'),
  };
};

const portOf = async (host: string): Promise<string> => {
  const config = await readFile(join(playground.dir, 'ssh_config'), 'utf8');
  return new RegExp(`Host ${host}\n.*\n  Port (\\d+)`).exec(config)?.[1] ?? '';
};

/**
 * A login whose commands find other programs first: its key is let in with a command of its own, which puts them into the
 * path on those hosts only.
 */
const withPrograms = async (
  name: string,
  programs: Readonly<Record<string, string>>,
  hosts: readonly string[],
): Promise<string> => {
  const folder = join(playground.dir, `bin-${name}`);
  await mkdir(folder);
  for (const [program, script] of Object.entries(programs)) {
    await writeFile(join(folder, program), `#!/bin/sh\n${script}\n`);
    await chmod(join(folder, program), 0o755);
  }
  const ports = await Promise.all(hosts.map(portOf));
  const forced = join(folder, 'forced-command');
  await writeFile(
    forced,
    `#!/bin/sh
case "$SSH_CONNECTION" in ${ports.map((port) => `*" ${port}"`).join(' | ')}) PATH=${folder}:$PATH ;; esac
exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"
`,
  );
  await chmod(forced, 0o755);
  const identity = join(playground.dir, `id-${name}`);
  await sshKeygen('-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', identity);
  const keys = join(playground.dir, 'authorized_keys');
  const line = `command="${forced}" ${await readFile(`${identity}.pub`, 'utf8')}`;
  await writeFile(keys, `${await readFile(keys, 'utf8')}${line}`);
  return playground.clusterFileWith(name, [/\[\.\/id_ed25519\]/, `[./id-${name}]`]);
};

beforeAll(async () => {
  pki = await TestPki.create();
  playground = await Playground.up({ dir: await mkdtemp(join(tmpdir(), 'cr-')), maxLife: 900 });
  names = playground.hosts.map(({ name }) => name);
}, 300_000);
afterAll(async () => {
  await playground.down();
  await pki.remove();
});

describe('certroll doctor', () => {
  it('finds nothing wrong with a sound cluster, and changes nothing', async () => {
    const before = await readFile(playground.hosts[0].path('sa-verification-keys.pem'), 'utf8');
    const seen = await doctor(playground.clusterFile);
    expect(seen.failed, seen.text).toEqual([]);
    expect(seen.checks.filter(({ state }) => state !== 'ok')).toEqual([]);
    expect(seen.exitCode).toBe(0);
    const ids = new Set(seen.checks.map(({ id }) => id));
    for (const id of ['host-key', 'sudo', 'tools', 'api', 'etcd-member', 'etcd-lock', 'right', 'issuer'])
      expect([...ids]).toContain(id);
    const registry = seen.checks.find(({ id }) => id === 'etcd-registry');
    // The second look finds what the first one left: nothing.
    expect(registry?.text).toMatch(/^0 keys/);
    expect((await doctor(playground.clusterFile)).checks.find(({ id }) => id === 'etcd-registry')?.text).toBe(
      registry?.text,
    );
    expect(await readFile(playground.hosts[0].path('sa-verification-keys.pem'), 'utf8')).toBe(before);
  });

  it('shows it by host for people, in plain letters where the terminal has no others', async () => {
    const plain = await certroll(['doctor', '-c', playground.clusterFile], { env: { LANG: 'C' } });
    expect(plain.stdout).toMatch(/^kubemaster1002\.play\.example\.net$/m);
    expect(plain.stdout).toMatch(/^ {2}ok {3}host key +known$/m);
    expect(plain.stdout.trimEnd().split('\n').at(-1)).toMatch(/^playground: 0 failures, .*ready for runs/);
    const utf8 = await certroll(['doctor', '-c', playground.clusterFile], { env: { LANG: 'C.UTF-8' } });
    expect(utf8.stdout).toContain('✔ host key');
  });

  it('a host with another key than the known one: its fingerprint, and the line to compare', async () => {
    const file = join(playground.dir, 'known_hosts-wrong');
    const known = await readFile(join(playground.dir, 'known_hosts'), 'utf8');
    const [first = '', second = '', ...rest] = known.trim().split('\n');
    const [, ...keyOfFirst] = first.split(' ');
    await writeFile(file, [first, [names[1], ...keyOfFirst].join(' '), ...rest, ''].join('\n'));
    const seen = await doctor(
      await playground.clusterFileWith('host-key', [/\.\/known_hosts/, './known_hosts-wrong']),
    );
    expect(seen.failed).toEqual(['2 host-key']);
    expect(seen.exitCode).toBe(1);
    const presented = await sshKeygen('-lf', playground.hosts[1].path('ssh_host_key.pub'));
    const fingerprint = presented.split(' ')[1] ?? '';
    expect(fingerprint).toMatch(/^SHA256:/);
    expect(seen.text).toContain(fingerprint);
    expect(seen.advice).toContain(`ssh-keyscan -p ${await portOf(names[1]!)} 127.0.0.1`);
    expect(seen.advice).toContain(second.split(' ').slice(0, 3).join(' '));
    // Its apiserver is asked all the same.
    expect(skippedOn(seen, '2')).not.toContain('api');
    expect(skippedOn(seen, '2')).toContain('tools');
    expect(await readFile(file, 'utf8')).not.toContain(second);
  });

  it('a host name without an address', async () => {
    const config = await readFile(join(playground.dir, 'ssh_config'), 'utf8');
    await writeFile(
      join(playground.dir, 'ssh_config-name'),
      config.replace('HostName 127.0.0.1', 'HostName cp1.invalid'),
    );
    const seen = await doctor(
      await playground.clusterFileWith('name', [/\.\/ssh_config/, './ssh_config-name']),
    );
    expect(seen.failed).toEqual(['1 name']);
    expect(seen.advice).toContain('getent hosts cp1.invalid');
    expect(skippedOn(seen, '1')).toEqual(expect.arrayContaining(['tcp', 'login', 'tools', 'api']));
  });

  it('a host whose SSH port is closed, and one that does not let the user in', async () => {
    const config = await readFile(join(playground.dir, 'ssh_config'), 'utf8');
    await writeFile(
      join(playground.dir, 'ssh_config-port'),
      config.replace(/Port \d+/, `Port ${await freePort()}`),
    );
    const closed = await doctor(
      await playground.clusterFileWith('port', [/\.\/ssh_config/, './ssh_config-port']),
    );
    expect(closed.failed).toEqual(['1 tcp']);
    await sshKeygen('-q', '-t', 'ed25519', '-N', '', '-f', join(playground.dir, 'id-stranger'));
    const stranger = await doctor(
      await playground.clusterFileWith('stranger', [/\[\.\/id_ed25519\]/, '[./id-stranger]']),
    );
    expect(stranger.failed).toEqual(['1 login', '2 login', '3 login']);
    expect(stranger.advice).toContain('ssh-add');
  });

  it('a key that only a passphrase opens, and no agent: nobody is asked to log in with it', async () => {
    await sshKeygen('-q', '-t', 'ed25519', '-N', 'secret', '-f', join(playground.dir, 'id-locked'));
    const seen = await doctor(
      await playground.clusterFileWith('locked', [/\[\.\/id_ed25519\]/, '[./id-locked]']),
    );
    expect(seen.failed).toEqual(['this machine ssh-identity']);
    expect(seen.text).toMatch(/is encrypted.*no ssh-agent is used/);
    expect(skippedOn(seen, '3')).toContain('login');
  });

  it('programs that are not as the scripts need them', async () => {
    const busybox = 'echo "stat: unrecognized option: printf" >&2; exit 1';
    const seen = await doctor(await withPrograms('stat', { stat: busybox }, [names[2]!]));
    expect(seen.failed).toEqual(['3 tools']);
    expect(seen.text).toContain('stat does not do what is asked of it');
    expect(seen.advice).toContain('coreutils');
    expect(skippedOn(seen, '3')).toContain('kube-apiserver');
  });

  it('the clock of one host, and of most', async () => {
    const fake = `exec /bin/date -d '-1 hour' "$@"`;
    const one = await doctor(await withPrograms('clock', { date: fake }, [names[0]!]));
    expect(one.failed).toEqual(['1 clock']);
    expect(one.text).toMatch(/-3(599|600)\.\d s off this machine's \(allowed: 10\.0 s\)/);
    const most = await doctor(await withPrograms('clocks', { date: fake }, names));
    expect(most.failed).toEqual(['this machine bastion-clock']);
    expect(most.advice).toContain('this machine');
  });

  it('a kubeconfig that holds nothing', async () => {
    await writeFile(join(playground.dir, 'kubeconfig-empty'), '{}\n', { mode: 0o600 });
    const seen = await doctor(
      await playground.clusterFileWith('empty', [
        /kubeconfig: \.\/kubeconfig/,
        'kubeconfig: ./kubeconfig-empty',
      ]),
    );
    expect(seen.failed).toEqual(['this machine kubeconfig']);
    expect(skippedOn(seen, '1')).toContain('api');
    expect(skippedOn(seen, 'rights in the API')).toEqual(['right', 'probe-account']);
  });

  it('a client certificate that has expired, and one that is about to', async () => {
    const issuer = await clientCa();
    const from = new Date(Date.now() - 30 * DAY);
    const expired = await pki.certificate('expired', { issuer, from, to: new Date(Date.now() - DAY) });
    const seen = await doctor(await withClient('expired', expired));
    expect(seen.failed).toEqual(['this machine kubeconfig-certificate']);
    expect(seen.text).toMatch(/expired 1d/);
    const admin = await copyOfAdmin('soon', 3 * DAY);
    const soon = await doctor(await withClient('soon', admin));
    expect(soon.failed, soon.text).toEqual([]);
    expect(soon.warnings).toEqual(['this machine kubeconfig-certificate']);
    expect(soon.exitCode).toBe(3);
  });

  it('a user who may not do what is needed: each right, with the rule that gives it', async () => {
    const viewer = await pki.certificate('viewer', { issuer: await clientCa() });
    const seen = await doctor(await withClient('viewer', viewer));
    expect(new Set(seen.failed)).toEqual(new Set(['rights in the API right']));
    expect(seen.failed).toHaveLength(3);
    expect(new Set(seen.warnings)).toEqual(new Set(['rights in the API right']));
    expect(seen.text).toContain('may not create serviceaccounts/token of default in kube-system');
    expect(seen.advice).toContain(
      '{apiGroups: [""], resources: ["serviceaccounts/token"], resourceNames: ["default"], verbs: ["create"]}',
    );
    expect(seen.advice).toContain('{apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"]');
  });

  it('a server name that no certificate carries: those that it does carry', async () => {
    const seen = await doctor(
      await playground.clusterFileWith('server-name', [
        /serverName: kubernetes\.default\.svc/,
        'serverName: kubernetes.wrong',
      ]),
    );
    expect(seen.failed).toEqual(['1 api', '2 api', '3 api']);
    expect(seen.text).toContain('does not carry the name kubernetes.wrong');
    expect(seen.advice).toContain(`It carries kubernetes.default.svc, ${names[0] ?? ''}, 127.0.0.1.`);
    expect(seen.advice).toContain('api.serverName');
    expect(seen.checks.find(({ id }) => id === 'probe-account')).toMatchObject({ blockedBy: 'api' });
  });

  it('ports of two apiservers mixed up', async () => {
    const text = await readFile(playground.clusterFile, 'utf8');
    const [one = '', two = ''] = [...text.matchAll(/^ {4}kubemaster\S+ (\d+)$/gm)].map(([, port]) => port);
    const seen = await doctor(
      await playground.clusterFileWith(
        'mixed',
        [new RegExp(`: ${one}$`, 'm'), ': 1'],
        [new RegExp(`: ${two}$`, 'm'), `: ${one}`],
        [/: 1$/m, `: ${two}`],
      ),
    );
    expect(seen.failed).toEqual(['1 same-process', '2 same-process']);
    expect(seen.advice).toContain('api.ports');
  });

  it('an etcd port that is closed, and a name that its certificate does not carry', async () => {
    const port = await freePort();
    const closed = await doctor(
      await playground.clusterFileWith('etcd-port', [
        /https:\/\/127\.0\.0\.1:\d+'\]/,
        `https://127.0.0.1:${port}']`,
      ]),
    );
    expect(closed.failed).toEqual(['etcd etcd-member']);
    expect(closed.advice).toContain('etcd.endpoints');
    expect(skippedOn(closed, 'etcd')).toEqual(['etcd-registry', 'etcd-lock']);
    const named = await doctor(
      await playground.clusterFileWith('etcd-name', [
        /serverName: etcd\.play\.example\.net/,
        'serverName: etcd.wrong',
      ]),
    );
    expect(named.failed).toEqual(['etcd etcd-member']);
    expect(named.advice).toContain('etcd.play.example.net');
    expect(named.advice).toContain('etcd.serverName');
  });

  it('one closed port of two hides neither the other member nor the rights', async () => {
    const endpoint = await playground.etcdEndpoint();
    const port = await freePort();
    const seen = await doctor(
      await playground.clusterFileWith('etcd-two', [
        /endpoints: \[/,
        `endpoints: ['https://127.0.0.1:${port}', `,
      ]),
    );
    expect(seen.failed).toEqual(['etcd etcd-member']);
    expect(seen.checks.find(({ subject }) => subject === endpoint)?.state).toBe('ok');
    expect(skippedOn(seen, 'etcd')).toEqual([]);
  });

  it('a client certificate of etcd with the key of another', async () => {
    await copyFile(playground.pki('admin.key'), playground.pki('mixed.key'));
    await chmod(playground.pki('mixed.key'), 0o600);
    const seen = await doctor(
      await playground.clusterFileWith('etcd-pair', [/etcd-client\.key/, 'mixed.key']),
    );
    expect(seen.failed).toEqual(['this machine etcd-certificate']);
    expect(skippedOn(seen, 'etcd')).toEqual(['etcd-member', 'etcd-registry', 'etcd-lock']);
  });

  it('a service that is not where the cluster file says', async () => {
    const seen = await doctor(
      await playground.clusterFileWith('pid-file', [/\{host\}\/apiserver\.pid/, '{host}/gone.pid']),
    );
    expect(seen.failed).toEqual(['1 kube-apiserver', '2 kube-apiserver', '3 kube-apiserver']);
    expect(seen.text).toContain('gone.pid does not exist');
    expect(seen.advice).toContain('services.apiserver');
    expect(skippedOn(seen, '1')).toEqual(['key-files', 'free-space', 'startable', 'same-process']);
  });

  it('a restart command that is not there, and too little space', async () => {
    const gone = await doctor(
      await playground.clusterFileWith('command', [/\{host\}\/ctl', restart/, "{host}/gone', restart"]),
    );
    expect(gone.failed).toEqual(['1 startable', '2 startable', '3 startable']);
    const text = await readFile(playground.clusterFile, 'utf8');
    const full = join(playground.dir, 'cluster-space.yaml');
    await writeFile(full, `${text}thresholds: { freeSpace: 9000000000000000 }\n`);
    expect((await doctor(full)).failed).toEqual(['1 free-space', '2 free-space', '3 free-space']);
  });

  it('an issuer whose CA is about to end', async () => {
    const soon = await pki.certificate('short-ca', { ca: true, to: new Date(Date.now() + 10 * DAY) });
    const seen = await doctor(
      await playground.clusterFileWith(
        'issuer',
        [/\.\/pki\/sa-ca\.crt/, soon.certFile],
        [/\.\/pki\/sa-ca\.key/, soon.keyFile],
      ),
    );
    expect(seen.failed).toEqual(['this machine issuer']);
    expect(seen.text).toContain('due for renewal at once');
  });

  it('a cluster file that is wrong is told with its line, and nothing is looked at', async () => {
    const wrong = await playground.clusterFileWith('wrong', [/lock:/, 'lokc:']);
    const finished = await certroll(['doctor', '-c', wrong]);
    expect(finished).toMatchObject({ exitCode: 2, stdout: '' });
    expect(finished.stderr).toMatch(/cluster-wrong\.yaml:\d+:1: .*lokc/);
  });
});

/** The certificate of the cluster's admin with another end. */
const copyOfAdmin = async (name: string, leftMs: number): Promise<TestCert> => {
  const issuer = await clientCa();
  const keyFile = await pki.key(name);
  const csr = pki.path(`${name}.csr`);
  const { openssl } = await import('../../support/pki.js');
  await openssl('req', '-new', '-key', keyFile, '-subj', '/O=system:masters/CN=admin', '-out', csr);
  const certFile = pki.path(`${name}.crt`);
  const days = String(Math.ceil(leftMs / DAY));
  await openssl(
    ...['x509', '-req', '-in', csr, '-CA', issuer.certFile, '-CAkey', issuer.keyFile, '-CAcreateserial'],
    ...['-CAserial', pki.path('serial'), '-days', days, '-out', certFile],
  );
  return { certFile, keyFile, pem: await readFile(certFile, 'utf8'), key: '' };
};
