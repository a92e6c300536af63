import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { encodeBundle, kidOf, readVerificationKeys } from '../../../src/pem/keys.js';
import { readPem } from '../../../src/pem/read.js';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ed = generateKeyPairSync('ed25519');
const pub = (key: KeyObject, type: 'spki' | 'pkcs1' = 'spki'): string =>
  key.export({ format: 'pem', type: type }) as string;
const folder = mkdtempSync(join(tmpdir(), 'certroll-pem-'));
afterAll(() => rmSync(folder, { recursive: true }));

const certificate = (key: KeyObject): string => {
  const path = join(folder, 'key');
  writeFileSync(path, key.export({ format: 'pem', type: 'pkcs8' }), { mode: 0o600 });
  return execFileSync('openssl', ['req', '-x509', '-new', '-key', path, '-subj', '/CN=x', '-days', '2'], {
    encoding: 'utf8',
  });
};
const [certA, certB] = [certificate(rsa.privateKey), certificate(ec.privateKey)];
const A = kidOf(rsa.publicKey);
const B = kidOf(ec.publicKey);

/** Rows of what kube-apiserver's own parser was measured to load from such a file. */
const rows: readonly (readonly [what: string, text: string, kids: readonly string[], problems: number])[] = [
  ['two public keys', pub(rsa.publicKey) + pub(ec.publicKey), [A, B], 0],
  ['SEC1 EC private key', ec.privateKey.export({ format: 'pem', type: 'sec1' }) as string, [B], 0],
  ['PKCS#8 EC private key: nothing', ec.privateKey.export({ format: 'pem', type: 'pkcs8' }) as string, [], 1],
  [
    'PKCS#8 EC private key beside an RSA public key: EC lost',
    (ec.privateKey.export({ format: 'pem', type: 'pkcs8' }) as string) + pub(rsa.publicKey),
    [A],
    1,
  ],
  ['PKCS#1 RSA private key', rsa.privateKey.export({ format: 'pem', type: 'pkcs1' }) as string, [A], 0],
  ['PKCS#8 RSA private key', rsa.privateKey.export({ format: 'pem', type: 'pkcs8' }) as string, [A], 0],
  ['PKCS#1 RSA public key: nothing', pub(rsa.publicKey, 'pkcs1'), [], 1],
  ['Ed25519 public key: nothing', pub(ed.publicKey), [], 1],
  ['a certificate counts as its key', certA, [A], 0],
  ['CRLF, trailing blanks, a preamble', `# text\n${pub(rsa.publicKey).replaceAll('\n', '  \r\n')}`, [A], 0],
  ['a byte order mark before BEGIN: lost', `\uFEFF${pub(rsa.publicKey)}`, [], 1],
  ['indented (a YAML paste): lost', pub(rsa.publicKey).replace(/^/gm, '  '), [], 1],
  ['two certificates glued together: both lost', certA.trimEnd() + certB, [], 2],
  ['one damaged base64 character in the first of two', certA.replace(/\n(.)/, '\n!') + certB, [B], 1],
  ['a truncated first certificate', certA.slice(0, 200) + '\n' + certB, [B], 1],
  ['a truncated last certificate', certA + certB.slice(0, 200), [A], 1],
  ['empty', '', [], 0],
];

describe('what an apiserver loads from a verification file', () => {
  it.each(rows)('%s', (_what, text, kids, problems) => {
    const found = readVerificationKeys(text);
    expect(found.keys.map((key) => key.kid)).toEqual(kids);
    expect(found.problems).toHaveLength(problems);
  });

  it('loses the first two of three certificates when those are glued together', () => {
    const found = readVerificationKeys(certA.trimEnd() + certA + certB);
    expect(found.keys.map((key) => key.kid)).toEqual([B]);
  });
});

describe('the kid', () => {
  it('is what openssl says of the same key', () => {
    const der = execFileSync('openssl', ['pkey', '-pubin', '-outform', 'DER'], { input: pub(ec.publicKey) });
    const hash = execFileSync('openssl', ['dgst', '-sha256', '-binary'], { input: der });
    expect(kidOf(ec.publicKey)).toBe(hash.toString('base64url'));
  });
});

describe('a bundle that certroll writes', () => {
  const keys = [
    pub(rsa.publicKey),
    pub(ec.publicKey),
    ...[1, 2, 3].map(() => pub(generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey)),
  ];

  it('is read back whole, whatever the order and repetitions it is made from, and is the same bytes', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(keys, { minLength: 1 }), (chosen) => {
        const text = encodeBundle([...chosen, ...chosen]);
        const found = readVerificationKeys(text);
        expect(found.problems).toEqual([]);
        expect(new Set(found.keys.map((key) => key.kid))).toEqual(new Set(chosen.map(kidOf)));
        expect(encodeBundle([...chosen].reverse())).toBe(text);
      }),
    );
  });
});

describe('reading PEM', () => {
  it('never throws and accounts for every BEGIN marker that stands at a line start', () => {
    const pieces = fc.constantFrom(
      '-----BEGIN X-----',
      '-----END X-----',
      '\n',
      'QUJD',
      '-----BEGIN',
      ' ',
      '\r\n',
      ':',
      'a: b',
      '-----',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 20 }), (parts) => {
        const text = parts.join('');
        const { blocks, problems } = readPem(text);
        for (const { line } of [...blocks, ...problems])
          expect(line).toBeLessThanOrEqual(text.split('\n').length);
      }),
    );
  });
});
