import { chmod, writeFile } from 'node:fs/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { IssuedCertificate, Issuer } from '../../../src/issuers/issuer.js';
import { openIssuer } from '../../../src/issuers/open.js';
import { failure } from '../../support/failure.js';
import { DAY, openssl, TestPki, type TestCert } from '../../support/pki.js';

const ALGORITHMS = ['rsa-2048', 'rsa-3072', 'rsa-4096', 'ecdsa-p256', 'ecdsa-p384'] as const;
type Usable = (typeof ALGORITHMS)[number];

let pki: TestPki;
const cas = new Map<Usable, TestCert>();
const requests = new Map<Usable, string>();

const open = async (
  cert: string,
  key = cert.replace('.crt', '.key'),
  more: { passphrase?: { env: string } } = {},
): Promise<Issuer> => {
  const issuer = await openIssuer({ type: 'local-ca', cert, key, ...more }, pki.dir);
  if (!issuer) throw new Error('no issuer');
  return issuer;
};
const issue = async (issuer: Issuer, csrPem: string, ttlMs = 365 * DAY): Promise<IssuedCertificate> =>
  issuer.issue({ csrPem, ttlMs, now: new Date() });
const csrOf = (algorithm: Usable): string => requests.get(algorithm) ?? '';

beforeAll(async () => {
  pki = await TestPki.create();
  await Promise.all([
    ...ALGORITHMS.map(async (algorithm) => {
      const to = new Date(Date.now() + 3650 * DAY);
      cas.set(algorithm, await pki.certificate(`ca-${algorithm}`, { algorithm, ca: true, to }));
    }),
    ...ALGORITHMS.map(async (algorithm) => {
      const key = await pki.key(`subject-${algorithm}`, algorithm);
      requests.set(algorithm, await pki.csr(`subject-${algorithm}`, key, 'service-accounts cp1'));
    }),
  ]);
});
afterAll(async () => pki.remove());

/** What openssl reads in a certificate. */
const read = async (pem: string, ...what: readonly string[]): Promise<string> => {
  const file = pki.path('read.pem');
  await writeFile(file, pem);
  return openssl('x509', '-in', file, '-noout', ...what);
};

describe('a local CA', () => {
  it.each(ALGORITHMS)(
    'of %s signs for every kind of key as openssl is strict about it',
    async (algorithm) => {
      const issuer = await open(`ca-${algorithm}.crt`);
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...ALGORITHMS),
          // Past 2050 dates are written in another form.
          fc.integer({ min: 31 * DAY, max: 20_000 * DAY }),
          async (subject, ttlMs) => {
            const now = new Date();
            const { pem, notBefore, notAfter, serial, capped } = await issuer.issue({
              csrPem: csrOf(subject),
              ttlMs,
              now,
            });
            await writeFile(pki.path('leaf.pem'), pem);
            const ca = cas.get(algorithm)?.certFile ?? '';
            await openssl('verify', '-x509_strict', '-check_ss_sig', '-CAfile', ca, pki.path('leaf.pem'));
            const dates = await read(pem, '-startdate', '-enddate', '-serial', '-dateopt', 'iso_8601');
            const iso = (date: Date): string => date.toISOString().replace('T', ' ').replace('.000', '');
            expect(dates).toBe(`notBefore=${iso(notBefore)}\nnotAfter=${iso(notAfter)}\nserial=${serial}\n`);
            expect(capped).toBe(ttlMs >= 3650 * DAY);
            expect(await read(pem, '-pubkey')).toBe(
              await openssl('pkey', '-in', pki.path(`subject-${subject}.key`), '-pubout'),
            );
          },
        ),
        { numRuns: 8 },
      );
    },
  );

  it('lives to sign past 2050', async () => {
    await pki.certificate('ca-old', { ca: true, to: new Date('2099-01-01T00:00:00Z') });
    const issued = await issue(await open('ca-old.crt'), csrOf('ecdsa-p256'), 60 * 365 * DAY);
    await writeFile(pki.path('leaf.pem'), issued.pem);
    await openssl('verify', '-x509_strict', '-CAfile', pki.path('ca-old.crt'), pki.path('leaf.pem'));
    expect(issued.notAfter.getUTCFullYear()).toBeGreaterThan(2080);
  });

  it('gives a certificate that may sign and nothing else, with identifiers and a serial of its own', async () => {
    const issuer = await open('ca-ecdsa-p256.crt');
    const [first, second] = [await issue(issuer, csrOf('rsa-2048')), await issue(issuer, csrOf('rsa-2048'))];
    expect(first.serial).toMatch(/^[0-9A-F]{32}$/);
    expect(first.serial).not.toBe(second.serial);
    const text = await read(first.pem, '-text', '-certopt', 'no_pubkey,no_sigdump');
    expect(text).toContain('Subject: CN = service-accounts cp1');
    expect(text).toMatch(/Basic Constraints: critical\s+CA:FALSE/);
    expect(text).toMatch(/Key Usage: critical\s+Digital Signature\n/);
    const keyId = async (pem: string, name: string): Promise<string> =>
      (await read(pem, '-ext', name)).split('\n')[1]?.trim() ?? '';
    const caPem = cas.get('ecdsa-p256')?.pem ?? '';
    expect(await keyId(first.pem, 'authorityKeyIdentifier')).toBe(await keyId(caPem, 'subjectKeyIdentifier'));
    expect(text).toContain('Subject Key Identifier');
  });

  it('keeps the names in a request that asks for some', async () => {
    const key = await pki.key('named');
    const csr = pki.path('named.csr');
    const names = 'subjectAltName=DNS:cp1.example.net,IP:10.0.0.1,IP:fd00::1';
    await openssl('req', '-new', '-key', key, '-subj', '/CN=cp1', '-addext', names, '-out', csr);
    const issued = await issue(await open('ca-ecdsa-p256.crt'), await openssl('req', '-in', csr));
    expect(await read(issued.pem, '-ext', 'subjectAltName')).toContain(
      'DNS:cp1.example.net, IP Address:10.0.0.1, IP Address:FD00:0:0:0:0:0:0:1',
    );
  });

  it.each(['utf8only', 'nombstr', 'default', 'pkix'])(
    'signs under a name of any string type (%s), byte for byte',
    async (mask) => {
      const config = pki.path('names.cnf');
      await writeFile(
        config,
        `[req]\nstring_mask = ${mask}\ndistinguished_name = dn\nx509_extensions = ca\n[dn]\n[ca]\nbasicConstraints = critical, CA:TRUE\nkeyUsage = critical, keyCertSign\nsubjectKeyIdentifier = hash\n`,
      );
      const key = await pki.key(`mask-${mask}`);
      const cert = pki.path(`mask-${mask}.crt`);
      const subject = '/C=DE/O=Größe, Ltd./OU=a+b "c"/CN=Service*Accounts';
      await openssl(
        ...['req', '-x509', '-new', '-utf8', '-key', key, '-config', config, '-subj', subject],
        ...['-days', '900', '-out', cert],
      );
      const issued = await issue(await open(`mask-${mask}.crt`), csrOf('ecdsa-p256'));
      await writeFile(pki.path('leaf.pem'), issued.pem);
      await openssl('verify', '-x509_strict', '-CAfile', cert, pki.path('leaf.pem'));
    },
  );

  it('that is an intermediate comes along with the leaf, and ends it', async () => {
    const root = await pki.certificate('root', { ca: true, to: new Date(Date.now() + 100 * DAY) });
    const issuing = await pki.certificate('issuing', {
      issuer: root,
      to: new Date(Date.now() + 900 * DAY),
      extensions: [
        'basicConstraints = critical, CA:TRUE, pathlen:0',
        'keyUsage = critical, keyCertSign',
        'subjectKeyIdentifier = hash',
        'authorityKeyIdentifier = keyid',
      ],
    });
    await writeFile(pki.path('chain.crt'), `# our CA\n${issuing.pem}${root.pem}`);
    const issuer = await open('chain.crt', 'issuing.key');
    expect((await issuer.check(new Date())).caNotAfter.getTime()).toBeLessThan(Date.now() + 100 * DAY);
    const issued = await issue(issuer, csrOf('ecdsa-p384'));
    expect(issued.capped).toBe(true);
    await writeFile(pki.path('leaf.pem'), issued.pem);
    const [rootFile, leafFile] = [root.certFile, pki.path('leaf.pem')];
    await openssl('verify', '-x509_strict', '-CAfile', rootFile, '-untrusted', leafFile, leafFile);
  });

  it('takes a key that is encrypted, in each form, with its passphrase by reference', async () => {
    process.env['CERTROLL_TEST_PASSPHRASE'] = 'correct horse';
    const pass = ['-passout', 'pass:correct horse'];
    const [ec, rsa] = [cas.get('ecdsa-p256')?.keyFile ?? '', cas.get('rsa-2048')?.keyFile ?? ''];
    await openssl('pkcs8', '-topk8', '-in', ec, '-v2', 'aes-256-cbc', ...pass, '-out', pki.path('pkcs8.key'));
    await openssl('rsa', '-in', rsa, '-aes256', '-traditional', ...pass, '-out', pki.path('pkcs1.key'));
    await openssl('ec', '-in', ec, '-aes256', ...pass, '-out', pki.path('sec1.key'));
    const passphrase = { env: 'CERTROLL_TEST_PASSPHRASE' };
    for (const [cert, key] of [
      ['ca-ecdsa-p256.crt', 'pkcs8.key'],
      ['ca-rsa-2048.crt', 'pkcs1.key'],
      ['ca-ecdsa-p256.crt', 'sec1.key'],
    ] as const) {
      await chmod(pki.path(key), 0o600);
      await issue(await open(cert, key, { passphrase }), csrOf('ecdsa-p256'));
      expect((await failure((await open(cert, key)).check(new Date()))).message).toContain(
        'issuer.passphrase',
      );
      process.env['CERTROLL_TEST_WRONG'] = 'wrong horse';
      const wrong = await open(cert, key, { passphrase: { env: 'CERTROLL_TEST_WRONG' } });
      const error = await failure(wrong.check(new Date()));
      expect(error).toMatchObject({ code: 'issuer.ca-files', exit: 2 });
      expect(`${error.message} ${JSON.stringify(error)} ${String(error.stack)}`).not.toContain('horse');
    }
  });
});
