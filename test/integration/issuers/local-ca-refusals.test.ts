import { chmod, copyFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { IssuedCertificate, Issuer } from '../../../src/issuers/issuer.js';
import { openIssuer } from '../../../src/issuers/open.js';
import { failure } from '../../support/failure.js';
import { DAY, openssl, TestPki } from '../../support/pki.js';

let pki: TestPki;
let csr: string;
let weakCsr: string;
let edCsr: string;

const open = async (cert: string, key = cert.replace('.crt', '.key')): Promise<Issuer> => {
  const issuer = await openIssuer({ type: 'local-ca', cert, key }, pki.dir);
  if (!issuer) throw new Error('no issuer');
  return issuer;
};
const issue = async (issuer: Issuer, csrPem: string): Promise<IssuedCertificate> =>
  issuer.issue({ csrPem, ttlMs: 365 * DAY, now: new Date() });

beforeAll(async () => {
  pki = await TestPki.create();
  const to = new Date(Date.now() + 3650 * DAY);
  await Promise.all(['ca', 'other'].map(async (name) => pki.certificate(name, { ca: true, to })));
  [csr, weakCsr, edCsr] = await Promise.all([
    pki.key('subject').then(async (key) => pki.csr('subject', key)),
    pki.key('weak-subject', 'rsa-1024').then(async (key) => pki.csr('weak-subject', key)),
    pki.key('ed-subject', 'ed25519').then(async (key) => pki.csr('ed-subject', key)),
  ]);
});
afterAll(async () => pki.remove());

describe('a local CA that cannot be used', () => {
  it('because others may read its key is refused, and says how to mend it', async () => {
    await copyFile(pki.path('ca.key'), pki.path('loose.key'));
    for (const mode of [0o640, 0o604, 0o644]) {
      await chmod(pki.path('loose.key'), mode);
      const error = await failure((await open('ca.crt', 'loose.key')).check(new Date()));
      expect(error).toMatchObject({ code: 'issuer.key-permissions', exit: 2 });
      expect(error.hint).toContain('chmod 600');
    }
  });

  it.each([
    ['whose certificate is missing', 'missing.crt', 'ca.key', 'missing.crt'],
    ['whose key is missing', 'ca.crt', 'missing.key', 'missing.key'],
    ['whose key is that of another', 'ca.crt', 'other.key', 'is not the key of'],
    ['whose key is a certificate', 'ca.crt', 'private.crt', 'no private key'],
    ['that is a leaf', 'leaf.crt', 'leaf.key', 'is not a CA'],
    ['with a key that is too short', 'weak.crt', 'weak.key', '1024 bits'],
    ['of Ed25519', 'ed.crt', 'ed.key', 'ed25519'],
  ])('%s is called a fault of the cluster file', async (_what, cert, key, why) => {
    await pki.certificate('leaf');
    await pki.certificate('weak', { ca: true, algorithm: 'rsa-1024' });
    await copyFile(pki.path('ca.crt'), pki.path('private.crt'));
    await chmod(pki.path('private.crt'), 0o600);
    const edKey = await pki.key('ed', 'ed25519');
    const ed = ['-subj', '/CN=ed', '-days', '90', '-out', pki.path('ed.crt')];
    await openssl('req', '-x509', '-new', '-key', edKey, ...ed);
    const error = await failure((await open(cert, key)).check(new Date()));
    expect(error).toMatchObject({ code: 'issuer.ca-files', exit: 2 });
    expect(error.message).toContain(why);
  });

  it.each([
    [
      'has expired',
      { from: new Date(Date.now() - 9 * DAY), to: new Date(Date.now() - DAY) },
      'issuer.ca-expired',
    ],
    ['is not valid yet', { from: new Date(Date.now() + DAY) }, 'issuer.ca-not-yet-valid'],
    ['ends within the renew window', { to: new Date(Date.now() + 29 * DAY) }, 'issuer.ca-too-short'],
  ])('because it %s refuses, before and when it is to sign', async (what, dates, code) => {
    const name = what.replaceAll(' ', '-');
    await pki.certificate(name, { ca: true, ...dates });
    const issuer = await open(`${name}.crt`);
    expect(await failure(issuer.check(new Date()))).toMatchObject({ code, exit: 4 });
    expect(await failure(issue(issuer, csr))).toMatchObject({ code, exit: 4 });
  });

  it.each([
    ['a request with a key that is too short', () => weakCsr, '1024 bits'],
    ['a request with a key that no control plane signs with', () => edCsr, 'ed25519'],
    ['a request with a signature by another key', () => forged(), 'not signed with the key'],
    ['what is no request', () => 'hello', 'cannot be used'],
  ])('refuses %s', async (_what, csr, why) => {
    const error = await failure(issue(await open('ca.crt'), csr()));
    expect(error.code).toBe('issuer.request');
    expect(error.message).toContain(why);
  });

  /** A request with one byte of its signature changed. */
  const forged = (): string => {
    const [begin = '', ...lines] = csr.trimEnd().split('\n');
    const der = Buffer.from(lines.slice(0, -1).join(''), 'base64');
    der.writeUInt8(der.readUInt8(der.length - 9) ^ 1, der.length - 9);
    return [begin, ...(der.toString('base64').match(/.{1,64}/g) ?? []), lines.at(-1), ''].join('\n');
  };

  it('prints nothing of its key, whatever happens', async () => {
    await writeFile(pki.path('broken.key'), `-----BEGIN PRIVATE KEY-----\n${'SECRET'.repeat(10)}\n`, {
      mode: 0o600,
    });
    const error = await failure((await open('ca.crt', 'broken.key')).check(new Date()));
    expect(`${error.message} ${error.hint ?? ''} ${JSON.stringify(error)}`).not.toContain('SECRET');
    expect(error.cause).toBeUndefined();
  });
});
