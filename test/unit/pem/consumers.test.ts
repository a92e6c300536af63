import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { readAs, type Consumer } from '../../../src/pem/consumers.js';
import { encodeBundle } from '../../../src/pem/keys.js';

const folder = mkdtempSync(join(tmpdir(), 'certroll-pem-'));
afterAll(() => rmSync(folder, { recursive: true }));

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ed = generateKeyPairSync('ed25519');
const text = (key: KeyObject, type: 'pkcs8' | 'sec1' | 'pkcs1' | 'spki'): string =>
  key.export({ format: 'pem', type }) as string;
const encrypted = rsa.privateKey.export({
  format: 'pem',
  type: 'pkcs8',
  cipher: 'aes-256-cbc',
  passphrase: 'x',
}) as string;

const certificate = (name: string): string => {
  const path = join(folder, name);
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  writeFileSync(path, text(key, 'pkcs8'), { mode: 0o600 });
  const words = ['req', '-x509', '-new', '-key', path, '-subj', `/CN=${name}`, '-days', '2'];
  return execFileSync('openssl', words, { encoding: 'utf8' });
};
const [one, two, three] = ['one', 'two', 'three'].map(certificate) as [string, string, string];
const openssh = (): string => {
  const path = join(folder, 'ssh');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', path]);
  return execFileSync('cat', [path], { encoding: 'utf8' });
};
const trusted = execFileSync('openssl', ['x509', '-trustout'], { input: one, encoding: 'utf8' });
const flip = (pem: string): string => {
  const [begin = '', first = '', ...rest] = pem.split('\n');
  // A byte of the outer SEQUENCE: still base64, no certificate any more.
  return [begin, `AA${first.slice(2)}`, ...rest].join('\n');
};
const ecParameters = execFileSync('openssl', ['ecparam', '-name', 'prime256v1'], { encoding: 'utf8' });

type Loads = number | 'error';
interface Row {
  readonly what: string;
  readonly text: string;
  readonly sign?: Loads;
  readonly verify?: Loads;
  readonly kube?: Loads;
  readonly etcd?: Loads;
}

/** What the consumers' own parsers were measured to do with such bytes; 0 is loaded without an error, and empty. */
const rows: readonly Row[] = [
  { what: 'SEC1 EC key', text: text(ec.privateKey, 'sec1'), sign: 1, verify: 1, etcd: 'error' },
  {
    what: 'SEC1 EC key behind its parameters',
    text: ecParameters + text(ec.privateKey, 'sec1'),
    sign: 1,
    verify: 1,
    etcd: 'error',
  },
  { what: 'PKCS#8 EC key', text: text(ec.privateKey, 'pkcs8'), sign: 1, verify: 'error', etcd: 'error' },
  {
    what: 'PKCS#8 EC key beside an RSA public key',
    text: text(ec.privateKey, 'pkcs8') + text(rsa.publicKey, 'spki'),
    sign: 1,
    verify: 1,
    etcd: 'error',
  },
  { what: 'PKCS#1 RSA key', text: text(rsa.privateKey, 'pkcs1'), sign: 1, verify: 1 },
  { what: 'PKCS#8 RSA key', text: text(rsa.privateKey, 'pkcs8'), sign: 1, verify: 1 },
  { what: 'PKCS#1 RSA public key', text: text(rsa.publicKey, 'pkcs1'), verify: 'error' },
  {
    what: 'PKCS#1 RSA public key beside another',
    text: text(rsa.publicKey, 'pkcs1') + text(ec.publicKey, 'spki'),
    verify: 1,
  },
  { what: 'Ed25519 public key', text: text(ed.publicKey, 'spki'), verify: 'error' },
  {
    what: 'Ed25519 public key beside another',
    text: text(ed.publicKey, 'spki') + text(ec.publicKey, 'spki'),
    verify: 1,
  },
  { what: 'encrypted key', text: encrypted, sign: 'error', verify: 'error' },
  { what: 'OpenSSH key', text: openssh(), sign: 'error', verify: 'error' },
  { what: 'ssh .pub', text: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA x@y\n', sign: 'error', verify: 'error' },
  { what: 'certificate', text: one, verify: 1, kube: 1, etcd: 1 },
  {
    what: 'CRLF, trailing blanks, a preamble',
    text: `Certificate:\n  Data: x\n${one.replaceAll('\n', '  \r\n')}`,
    verify: 1,
    kube: 1,
    etcd: 1,
  },
  { what: 'byte order mark', text: `\uFEFF${one}`, verify: 'error', kube: 'error', etcd: 0 },
  { what: 'indented', text: one.replace(/^/gm, '  '), verify: 'error', kube: 'error', etcd: 0 },
  {
    what: 'three certificates, the first two glued',
    text: one.trimEnd() + two + three,
    verify: 1,
    kube: 1,
    etcd: 1,
  },
  {
    what: 'two public keys glued',
    text: text(ec.publicKey, 'spki').trimEnd() + text(rsa.publicKey, 'spki'),
    verify: 'error',
  },
  {
    what: 'one base64 character damaged in the first of two',
    text: one.replace(/\n(.)/, '\n!') + two,
    verify: 1,
    kube: 1,
    etcd: 1,
  },
  { what: 'truncated first certificate', text: `${one.slice(0, 200)}\n${two}`, verify: 1, kube: 1, etcd: 1 },
  { what: 'truncated last certificate', text: one + two.slice(0, 200), verify: 1, kube: 1, etcd: 1 },
  { what: 'one byte flipped in the DER', text: flip(one) + two, verify: 1, kube: 'error', etcd: 'error' },
  {
    what: 'private key between two certificates',
    text: one + text(ec.privateKey, 'sec1') + two,
    kube: 2,
    etcd: 'error',
  },
  { what: 'TRUSTED CERTIFICATE beside a plain one', text: trusted + two, kube: 1, etcd: 'error' },
  { what: 'empty file', text: '', sign: 'error', verify: 'error', kube: 'error', etcd: 0 },
];

const columns = [
  ['sign', 'signing-key'],
  ['verify', 'verification-keys'],
  ['kube', 'kube-ca'],
  ['etcd', 'etcd-ca'],
] as const;

const cases = rows.flatMap((row) =>
  columns.flatMap(([column, consumer]) => {
    const loads = row[column];
    return loads === undefined
      ? []
      : [{ name: `${row.what}, as ${consumer}`, text: row.text, consumer, loads }];
  }),
);

describe('a file as its consumer reads it', () => {
  it.each(cases)('$name: $loads', ({ text: pem, consumer, loads }) => {
    const reading = readAs(consumer, pem);
    expect(reading.count).toBe(loads === 'error' ? 0 : loads);
    expect(reading.loads).toBe(loads !== 'error' && loads > 0);
    // What is not loaded is told, with its place.
    const markers = pem.split('-----BEGIN ').length - 1;
    if (loads === 'error' || loads === 0) expect(reading.problems).not.toEqual([]);
    else if (consumer !== 'signing-key' && consumer !== 'verification-keys')
      expect(reading.problems.length).toBe(markers - reading.count);
    for (const { line, block, text: why } of reading.problems) {
      expect(line).toBeGreaterThan(0);
      expect(block).toBeLessThanOrEqual(markers);
      expect(why).not.toBe('');
    }
  });

  it('an Ed25519 key is read and cannot sign tokens, which is told', () => {
    const { count, problems } = readAs('signing-key', text(ed.privateKey, 'pkcs8'));
    expect(count).toBe(1);
    expect(problems).toMatchObject([
      { block: 1, line: 1, text: expect.stringContaining('ed25519') as string },
    ]);
  });

  it('names the block by its number and the line of its marker', () => {
    const { problems } = readAs('kube-ca', one + one.replace(/\n(.)/, '\n!') + two);
    const line = one.split('\n').length;
    expect(problems).toMatchObject([{ block: 2, line }]);
  });
});

describe('bundles that certroll writes', () => {
  const keys = [
    rsa.publicKey,
    ec.publicKey,
    generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey,
  ].map((key) => text(key, 'spki'));

  it('are read whole; spoilt in any of the known ways, what is lost is told', () => {
    const spoil = fc.constantFrom<(pem: string) => string>(
      (pem) => pem,
      (pem) => `\uFEFF${pem}`,
      (pem) => pem.replace(/^/gm, ' '),
      (pem) => pem.replace(/-----\n#.*\n-----/, '----------'),
      (pem) => pem.slice(0, Math.floor(pem.length * 0.7)),
      (pem) => pem.replace(/\n[A-Za-z0-9+/]{8}/, '\n!!!!!!!!'),
      (pem) => pem.replaceAll('\n', '\r\n'),
    );
    fc.assert(
      fc.property(fc.shuffledSubarray(keys, { minLength: 1 }), spoil, (chosen, how) => {
        const bundle = encodeBundle(chosen);
        expect(readAs('verification-keys', bundle)).toMatchObject({ count: chosen.length, problems: [] });
        const spoilt = how(bundle);
        const { count, problems } = readAs('verification-keys', spoilt);
        const markers = spoilt.split('-----BEGIN ').length - 1;
        if (problems.length === 0) expect(count).toBe(markers);
        else expect(count).toBeLessThan(markers);
      }),
    );
  });

  it('never throws, whatever the bytes and the consumer', () => {
    const piece = fc.constantFrom(
      one,
      two,
      text(ec.privateKey, 'sec1'),
      '-----BEGIN X-----\n',
      '-----END X-----',
      '\n',
      'QUJD',
      ':',
    );
    const consumer = fc.constantFrom<Consumer>('signing-key', 'verification-keys', 'kube-ca', 'etcd-ca');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), consumer, (parts, who) => {
        const { loads, count } = readAs(who, parts.join(''));
        expect(loads).toBe(count > 0);
      }),
    );
  });
});
