import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { FileFact } from '../../../src/hosts/host.js';
import { parseStartFiles } from '../../../src/kube/flags.js';
import { filesToRead, startProblems } from '../../../src/run/start-problems.js';

const folder = mkdtempSync(join(tmpdir(), 'certroll-start-'));
afterAll(() => rmSync(folder, { recursive: true }));

const makePair = (name: string) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const path = join(folder, name);
  writeFileSync(path, privateKey.export({ format: 'pem', type: 'pkcs8' }), { mode: 0o600 });
  const words = ['req', '-x509', '-new', '-key', path, '-subj', `/CN=${name}`, '-days', '2'];
  return { publicKey, certificate: execFileSync('openssl', words, { encoding: 'utf8' }) };
};
const serving = makePair('serving');
const client = makePair('etcd-client');
const ca = makePair('ca');
const pem = (key: KeyObject): string => key.export({ format: 'pem', type: 'spki' }) as string;

const argv = [
  'kube-apiserver',
  '--tls-cert-file=/pki/apiserver.crt',
  '--tls-private-key-file=/pki/apiserver.key',
  '--client-ca-file=/pki/ca.crt',
  '--etcd-servers=https://10.0.0.1:2379,https://10.0.0.2:2379',
  '--etcd-cafile=/pki/etcd-ca.crt',
  '--etcd-certfile=/pki/etcd-client.crt',
  '--etcd-keyfile=/pki/etcd-client.key',
  '--service-account-signing-key-file=/pki/sa.key',
  '--service-account-key-file=/pki/sa.pub',
];

const about = { mode: 0o640, owner: 'root', group: 'kube', sha256: '', changedAtMs: 0, mtimeMs: 0 };
const there = (path: string, content: string): FileFact => ({ exists: true, path, ...about, content });
const key = (path: string, publicKey?: KeyObject): FileFact => ({
  exists: true,
  path,
  ...about,
  ...(publicKey && { publicKeyPem: pem(publicKey) }),
});

const sound: readonly FileFact[] = [
  there('/pki/apiserver.crt', serving.certificate),
  key('/pki/apiserver.key', serving.publicKey),
  there('/pki/ca.crt', ca.certificate),
  there('/pki/etcd-ca.crt', ca.certificate),
  there('/pki/etcd-client.crt', client.certificate),
  key('/pki/etcd-client.key', client.publicKey),
  key('/pki/sa.key', serving.publicKey),
  there('/pki/sa.pub', pem(serving.publicKey)),
];

const files = parseStartFiles(argv);
const problemsWith = (...changed: readonly FileFact[]) =>
  startProblems(files, new Map([...sound, ...changed].map((fact) => [fact.path, fact])));

describe('whether an apiserver could start again', () => {
  it('is asked of every file that its flags name, of private keys by their public half only', () => {
    const { privateKeys, publicFiles } = filesToRead(files);
    expect([...privateKeys].sort()).toEqual(['/pki/apiserver.key', '/pki/etcd-client.key', '/pki/sa.key']);
    expect(publicFiles).toHaveLength(5);
    expect(files.etcdServers).toHaveLength(2);
  });

  it('has nothing against a sound one', () => {
    expect(problemsWith()).toEqual([]);
  });

  it.each<readonly [what: string, changed: FileFact, text: RegExp]>([
    ['a missing file', { exists: false, path: '/pki/ca.crt' }, /^does not exist/],
    ['an empty etcd bundle, which etcd takes without a word', there('/pki/etcd-ca.crt', ''), /no PEM block/],
    [
      'a foreign block in an etcd bundle',
      there('/pki/etcd-ca.crt', ca.certificate + pem(serving.publicKey)),
      /^block 2, line \d+: etcd takes every block for a certificate/,
    ],
    [
      'glued certificates',
      there('/pki/ca.crt', ca.certificate.trimEnd() + ca.certificate),
      /^block 1, line 1: .*glued/,
    ],
    [
      'a certificate of another key',
      there('/pki/apiserver.crt', client.certificate),
      /not the certificate of the key/,
    ],
    [
      'a damaged certificate',
      there('/pki/etcd-client.crt', client.certificate.slice(0, 200)),
      /holds no certificate/,
    ],
    ['a key that cannot be read', key('/pki/sa.key'), /cannot read a private key/],
    ['a verification file that gives no key', there('/pki/sa.pub', 'ssh-ed25519 AAAA x\n'), /no PEM block/],
  ])('names %s', (_what, changed, text) => {
    const [first, ...more] = problemsWith(changed);
    expect(first).toMatchObject({ path: changed.path, text: expect.stringMatching(text) as string });
    for (const problem of more) expect(problem.path).toBe(changed.path);
  });
});
