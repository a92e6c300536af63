import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { inspect, type InspectRequest, type Inspection, type LookedAt } from '../../../src/hosts/inspect.js';
import { NOT_READ } from '../../../src/hosts/redact.js';
import { RemoteHost } from '../../../src/hosts/remote-host.js';
import { readAs } from '../../../src/pem/consumers.js';
import { readPem } from '../../../src/pem/read.js';
import { LocalTransport } from '../../support/local-transport.js';
import { TestPki, type TestCert } from '../../support/pki.js';
import { freePort } from '../../support/ports.js';

let pki: TestPki;
let ca: TestCert;
let leaf: TestCert;
beforeAll(async () => {
  pki = await TestPki.create();
  ca = await pki.certificate('ca', { ca: true });
  leaf = await pki.certificate('leaf', { issuer: ca, algorithm: 'rsa-2048', sans: ['IP:127.0.0.1'] });
});
afterAll(() => pki.remove());

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const publicHalf = (keyFile: string): string =>
  execFileSync('openssl', ['pkey', '-in', keyFile, '-pubout']).toString();
/** Lines of a private key that are in no public text: an EC key ends with its public half. */
const secretsOf = (key: string): readonly string[] => {
  const open = [ca, leaf]
    .map(({ keyFile }) => publicHalf(keyFile))
    .join('')
    .replaceAll('\n', '');
  return key
    .split('\n')
    .filter((line) => line.length > 20 && !line.includes('-----') && !open.includes(line.slice(0, 24)));
};

describe.each(['dash', 'bash'] as const)('a look at a host whose sh is %s', (shell) => {
  let transport: LocalTransport;
  let host: RemoteHost;
  const children: ChildProcess[] = [];
  beforeEach(() => {
    transport = new LocalTransport({ shell });
    host = new RemoteHost('cp1', transport, { sudo: false });
  });
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    await host.close();
  });

  const put = (name: string, text: string | Uint8Array): string => {
    const path = join(transport.dir, name);
    writeFileSync(path, text);
    return path;
  };
  const look = async (request: InspectRequest): Promise<Inspection> => inspect(host, request);
  const file = async (
    text: string | Uint8Array,
    kind: 'files' | 'documents' = 'files',
  ): Promise<LookedAt> => {
    const path = put('looked-at', text);
    return (await look({ [kind]: [path] })).files.get(path)!;
  };
  const textOf = async (text: string | Uint8Array, kind?: 'files' | 'documents'): Promise<string> => {
    const found = await file(text, kind);
    if (found.kind !== 'file') throw new Error(found.kind);
    return found.text;
  };
  /** Everything that came from the host, and what base64 in it holds, twice over. */
  const transcript = (): string => {
    const said = transport.results.map(({ stdout, stderr }) => stdout.toString() + stderr).join('\n');
    const decoded = (text: string): string =>
      [...text.matchAll(/[A-Za-z0-9+/=]{16,}/g)]
        .map(([word]) => Buffer.from(word, 'base64').toString())
        .join('\n');
    return [said, decoded(said), decoded(decoded(said))].join('\n');
  };
  const expectNoSecret = (...keys: readonly string[]): void => {
    const said = transcript();
    for (const line of keys.flatMap(secretsOf)) expect(said).not.toContain(line.slice(0, 40));
  };

  it('gives certificates as they are, with their line numbers, and of a key beside them the public half only', async () => {
    const text = `# a comment\n${leaf.pem}\n${leaf.key}${ca.pem}`;
    const found = await file(text);
    expect(found).toMatchObject({ kind: 'file', mode: 0o644, publicKeyPem: publicHalf(leaf.keyFile) });
    const read = await textOf(text);
    expect(readPem(read).blocks.map(({ type, line }) => [type, line])).toEqual(
      readPem(text).blocks.map(({ type, line }) => [type, line]),
    );
    expect(readAs('kube-ca', read).certificates.map(({ serial }) => serial)).toEqual(
      readAs('kube-ca', text).certificates.map(({ serial }) => serial),
    );
    expectNoSecret(leaf.key);
  });

  it('lets a reader lose of spoilt files what it would lose of the files themselves', async () => {
    const glued = (ca.pem + leaf.pem).replace(/-----\n-----BEGIN/, '----------BEGIN');
    const spoilt = [
      '\ufeff' + ca.pem,
      ca.pem.replaceAll(/^/gm, '  '),
      glued,
      ca.pem.replaceAll('\n', '\r\n') + leaf.pem,
      leaf.pem.slice(0, 300) + '\n' + ca.pem,
      ca.pem + leaf.pem.slice(0, 300),
      ca.pem.replace('CERTIFICATE-----', 'CERTIFICATE----'),
      '',
      'nothing\n',
    ];
    for (const text of spoilt) {
      const read = await textOf(text);
      for (const consumer of ['kube-ca', 'etcd-ca', 'verification-keys'] as const) {
        const [one, other] = [readAs(consumer, text), readAs(consumer, read)];
        expect({ ...other, certificates: other.certificates.length }).toEqual({
          ...one,
          certificates: one.certificates.length,
        });
      }
    }
  });

  it('never gives a private key, however it is written, labelled and spoilt', async () => {
    const sec1 = execFileSync('openssl', ['ec', '-in', ca.keyFile], { stdio: 'pipe' }).toString();
    const pkcs1 = execFileSync('openssl', ['rsa', '-in', leaf.keyFile, '-traditional'], {
      stdio: 'pipe',
    }).toString();
    const keys = [ca.key, leaf.key, sec1, pkcs1];
    const bodies = (key: string): string => secretsOf(key).join('\n');
    const labelled = (text: string): string =>
      `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`;
    const spoils: readonly ((key: string) => string)[] = [
      (key) => key,
      (key) => key.replace(/^-----BEGIN/, '----BEGIN'),
      (key) => key.replace(/-----END[^\n]*\n/, ''),
      (key) => `  ${key.replaceAll('\n', '\n  ')}`,
      (key) => key.replaceAll('\n', '\r\n'),
      (key) => key.replace('KEY-----\n', 'KEY-----'),
      (key) => bodies(key),
      (key) => leaf.pem.trimEnd() + key,
      (key) => `-----BEGIN CERTIFICATE-----\n${bodies(key)}\n-----END CERTIFICATE-----\n`,
      (key) => `-----BEGIN PUBLIC KEY-----\n${bodies(key)}\n-----END PUBLIC KEY-----\n`,
      // What stands before the key would hide how it begins.
      (key) => labelled(`Comment: x\n\n${bodies(key)}`),
      (key) => labelled(`!\n${bodies(key)}`),
      (key) => labelled(bodies(key).replace(/^./, '$&\n')),
      (key) => labelled(bodies(key).replace(/^.{7}/, '$& \r\n')),
      (key) => key.replaceAll(/(BEGIN|END) .*KEY/g, '$1 SOMETHING'),
      (key) => `key: |\n  ${key.replaceAll('\n', '\n  ')}`,
      (key) => JSON.stringify({ key }),
      (key) => leaf.pem.replace(/-----END[^\n]*\n/, key),
    ];
    for (const key of keys) {
      const paths = spoils.map((spoil, at) => put(`k${at}`, spoil(key)));
      await look({ files: paths, documents: paths });
      expectNoSecret(key);
    }
  });

  it('lets nothing through of a text that is no PEM', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ minLength: 3, unit: 'binary' }), async (noise) => {
        const text = await textOf(`${noise.replaceAll('-----', '')}\n`);
        expect(text).toMatch(/^[#\s]*$/);
      }),
      { numRuns: 20 },
    );
  });

  it('gives a kubeconfig without what it keeps secret', async () => {
    const text = `apiVersion: v1
kind: Config
current-context: "default"
clusters:
- cluster:
    certificate-authority-data: ${base64(ca.pem)}
    server: https://10.0.0.1:6443
  name: default
users:
- name: admin
  user:
    client-certificate-data: ${base64(leaf.pem + leaf.key)}
    client-key-data: ${base64(leaf.key)}
    token: hunter2
    password: 'swordfish'
    exec:
      args:
      - --secret=hunter2
contexts: []
`;
    const read = await textOf(text, 'documents');
    const found = parse(read) as {
      clusters: { cluster: Record<string, string> }[];
      users: { user: Record<string, string> }[];
    };
    const plain = (word = ''): string => Buffer.from(word, 'base64').toString();
    expect(found.clusters[0]?.cluster).toMatchObject({ server: 'https://10.0.0.1:6443' });
    expect(plain(found.clusters[0]?.cluster['certificate-authority-data'])).toBe(ca.pem);
    const user = found.users[0]!.user;
    expect(readPem(plain(user['client-certificate-data'])).blocks[0]?.type).toBe('CERTIFICATE');
    expect(plain(user['client-key-public'])).toBe(publicHalf(leaf.keyFile));
    expect(user).not.toHaveProperty('client-key-data');
    expect(NOT_READ.exec(read)?.[1]).toBe('0');
    expect(transcript()).not.toMatch(/hunter2|swordfish/);
    expectNoSecret(leaf.key);
  });

  it.each([
    [
      'JSON',
      (data: string) => JSON.stringify({ users: [{ user: { 'client-key-data': data, token: 'hunter2' } }] }),
    ],
    [
      'flow style',
      (data: string) => `users: [{name: a, user: {client-key-data: ${data}, token: hunter2}}]\n`,
    ],
    [
      'a block of lines',
      (data: string) => `users:\n- user:\n    client-key-data: |\n      ${data}\n    token: hunter2\n`,
    ],
    [
      'a map on one line',
      (data: string) => `users:\n- name: a\n  user: { name: a, client-key-data: ${data}, token: hunter2 }\n`,
    ],
    ['a map on one line with a text in it', () => `users:\n- user: { name: a b hunter2 }\n`],
    ['an unknown key', (data: string) => `users:\n- user:\n    private-data: ${data}\n    token: hunter2\n`],
  ])('says that it cannot read a kubeconfig in %s, and gives none of it', async (_name, write) => {
    const read = await textOf(write(base64(leaf.key)), 'documents');
    expect(read).toMatch(/^# not read: [1-9]/m);
    expect(transcript()).not.toContain('hunter2');
    expectNoSecret(leaf.key, base64(leaf.key));
  });

  it('reads a map on one line that has nothing but public keys in it', async () => {
    const text = `contexts:\n- name: lab\n  context: { cluster: lab, user: admin@lab.example:1 }\n- context: {}\n`;
    const read = await textOf(text, 'documents');
    expect(NOT_READ.exec(read)?.[1]).toBe('0');
    expect(parse(read)).toEqual({
      contexts: [{ name: 'lab', context: { cluster: 'lab', user: 'admin@lab.example:1' } }, { context: {} }],
    });
  });

  it('takes what cannot be read for a fact', async () => {
    symlinkSync('nowhere', join(transport.dir, 'dangling'));
    symlinkSync('looked-at', join(transport.dir, 'link'));
    const path = put('looked-at', ca.pem);
    const { files } = await look({
      files: [
        join(transport.dir, 'dangling'),
        join(transport.dir, 'no'),
        transport.dir,
        join(transport.dir, 'link'),
      ],
    });
    expect([...files.values()]).toEqual([
      { kind: 'absent', linkTo: 'nowhere' },
      { kind: 'absent' },
      { kind: 'unreadable', why: 'not a regular file' },
      expect.objectContaining({ kind: 'file', linkTo: 'looked-at', text: readFileSync(path, 'utf8') }),
    ]);
  });

  it('finds processes by the names of their programs, long ones too, and what etcd has in its environment', async () => {
    const begin = Date.now();
    for (const name of ['kube-controller-manager', 'kube-controllers', 'etcd']) {
      copyFileSync('/bin/sleep', join(transport.dir, name));
      chmodSync(join(transport.dir, name), 0o755);
      const child = spawn(join(transport.dir, name), ['60'], {
        stdio: 'ignore',
        cwd: transport.dir,
        env: { ETCD_CERT_FILE: '/a/b=c', ETCD_ROOT_PASSWORD: 'hunter2' },
      });
      children.push(child);
      await once(child, 'spawn');
    }
    const { processes } = await look({ programs: ['kube-controller-manager', 'kube-scheduler', 'etcd'] });
    // Others may run on this machine.
    const ours = processes.filter(({ pid }) => children.some((child) => child.pid === pid));
    expect(ours.map(({ program }) => program).sort()).toEqual(['etcd', 'kube-controller-manager']);
    for (const found of ours) {
      expect(found).toMatchObject({ root: '', cwd: transport.dir, uid: process.getuid?.() });
      expect(found.argv).toEqual([join(transport.dir, found.program), '60']);
      // No other program takes it for flags.
      expect([...found.environment]).toEqual(found.program === 'etcd' ? [['ETCD_CERT_FILE', '/a/b=c']] : []);
      expect(found.startedAtMs).toBeGreaterThan(begin - 100);
      expect(found.startedAtMs).toBeLessThan(Date.now() + 100);
    }
    expect(transcript()).not.toContain('hunter2');
  });

  it('finds a process by its pid file', async () => {
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    children.push(child);
    await once(child, 'spawn');
    const paths = [put('pid', `${child.pid ?? 0}\n`), put('empty', ''), '/no/such'];
    const { processes } = await look({
      pidFiles: paths.map((path) => ({ program: 'kube-apiserver', path })),
    });
    expect(processes).toMatchObject([{ program: 'kube-apiserver', pid: child.pid, argv: ['sleep', '60'] }]);
  });

  it('knows since when a process runs, whatever its program is called', async () => {
    const begin = Date.now();
    const program = join(transport.dir, 'a) S 1 (\nb) c');
    copyFileSync('/bin/sleep', program);
    const child = spawn(program, ['60'], { stdio: 'ignore' });
    children.push(child);
    await once(child, 'spawn');
    const path = put('pid', `${child.pid ?? 0}\n`);
    const { processes } = await look({ pidFiles: [{ program: 'kube-apiserver', path }] });
    expect(processes).toMatchObject([{ pid: child.pid, argv: [program, '60'] }]);
    expect(processes[0]!.startedAtMs).toBeGreaterThan(begin - 100);
    expect(processes[0]!.startedAtMs).toBeLessThan(Date.now() + 100);
  });

  it('says what a port serves and which authorities it asks for, without a word of the session', async () => {
    const port = await freePort();
    const child = spawn(
      'openssl',
      [
        's_server',
        '-accept',
        `127.0.0.1:${port}`,
        '-cert',
        leaf.certFile,
        '-key',
        leaf.keyFile,
        '-Verify',
        '1',
        '-CAfile',
        ca.certFile,
        '-quiet',
      ],
      { stdio: 'ignore' },
    );
    children.push(child);
    const address = `127.0.0.1:${port}`;
    let found: Inspection | undefined;
    for (let tries = 0; tries < 50 && !found?.ports[0]?.certificates; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      found = await look({ ports: [{ address }, { address, serverName: 'x' }] });
    }
    expect(found?.ports).toHaveLength(2);
    for (const each of found?.ports ?? []) {
      expect(readAs('kube-ca', each.certificates).certificates[0]?.pem).toBe(leaf.pem);
      expect(each.authorities).toEqual(['CN=ca']);
    }
    expect(transcript()).not.toMatch(/Master|Resumption/);
  });

  it('takes a port where nobody listens for one that serves nothing', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    expect((await look({ ports: [{ address }] })).ports).toEqual([
      { address, certificates: '', authorities: [] },
    ]);
  });

  it.runIf(process.getuid?.() === 0)(
    'tells which files a user cannot read, and folders that are closed to it',
    async () => {
      chmodSync(transport.dir, 0o755);
      const open = put('open', '');
      const shut = put('shut', '');
      chmodSync(shut, 0o600);
      mkdirSync(join(transport.dir, 'closed'), { mode: 0o700 });
      const inside = put('closed/open', '');
      const gone = join(transport.dir, 'gone');
      const { denied } = await look({
        readers: [
          { uid: 65534, gid: 65534, groups: [], paths: [open, shut, inside, gone] },
          { uid: 65534, gid: 0, groups: [4], paths: [open] },
          { uid: 0, gid: 0, groups: [], paths: [shut] },
        ],
      });
      expect([...denied].map(([uid, paths]) => [uid, [...paths]])).toEqual([[65534, [shut, inside]]]);
    },
  );

  it('lists a folder, hidden names too', async () => {
    mkdirSync(join(transport.dir, 'manifests'));
    for (const name of ['a.yaml', '.a.yaml.swp', 'b b']) put(`manifests/${name}`, '');
    const { folders } = await look({ folders: [join(transport.dir, 'manifests'), '/no/such'] });
    expect([...folders.values()].map((names) => [...names].sort())).toEqual([
      ['.a.yaml.swp', 'a.yaml', 'b b'],
    ]);
  });
});
