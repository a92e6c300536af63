import { createPublicKey, type KeyObject } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readCertificates, verifyLeaf, type Certificates } from '../../../src/issuers/verify.js';
import { failure } from '../../support/failure.js';
import { DAY, openssl, TestPki, type TestCert, type TestCertOptions } from '../../support/pki.js';

const LEAF = ['basicConstraints = critical, CA:FALSE', 'keyUsage = critical, digitalSignature'];
const CA = ['basicConstraints = critical, CA:TRUE', 'keyUsage = critical, keyCertSign'];

let pki: TestPki;
let root: TestCert;
let issuing: TestCert;
let names = 0;
const leafOf = async (options: TestCertOptions = {}): Promise<TestCert> =>
  pki.certificate(`leaf${(names += 1)}`, { issuer: issuing, extensions: LEAF, ...options });
const view = async (...certs: readonly TestCert[]): Promise<Certificates> =>
  readCertificates(certs.map(({ pem }) => pem).join(''), 'test');
const keyOf = (cert: TestCert): KeyObject => createPublicKey(cert.pem);

interface Given {
  readonly pem?: string;
  readonly key?: KeyObject;
  readonly anchors?: readonly TestCert[];
  readonly now?: Date;
}

const verify = async (leaf: TestCert, given: Given = {}) =>
  verifyLeaf({
    pem: given.pem ?? leaf.pem,
    publicKey: given.key ?? keyOf(leaf),
    anchors: await view(...(given.anchors ?? [issuing, root])),
    now: given.now ?? new Date(),
    renewWindowMs: 30 * DAY,
    issuer: 'the test PKI',
  });

beforeAll(async () => {
  pki = await TestPki.create();
  root = await pki.certificate('root', { ca: true, to: new Date(Date.now() + 3650 * DAY) });
  issuing = await pki.certificate('issuing', {
    issuer: root,
    extensions: CA,
    to: new Date(Date.now() + 1000 * DAY),
  });
});
afterAll(async () => pki.remove());

describe('a certificate from an issuer', () => {
  it('is taken with what lies between it and the root, and without the root', async () => {
    const leaf = await leafOf();
    const { pem } = await verify(leaf);
    expect(pem).toBe(leaf.pem + issuing.pem);
  });

  it('may come with its chain in order, with or without the root', async () => {
    const leaf = await leafOf();
    for (const chain of [leaf.pem + issuing.pem, leaf.pem + issuing.pem + root.pem]) {
      for (const anchors of [[root], [issuing], [issuing, root]]) {
        expect((await verify(leaf, { pem: chain, anchors })).pem).toBe(leaf.pem + issuing.pem);
      }
    }
  });

  it('may stand directly under the root', async () => {
    const leaf = await leafOf({ issuer: root });
    expect((await verify(leaf, { anchors: [root] })).pem).toBe(leaf.pem);
  });

  it.each(['rsa-2048', 'rsa-3072', 'ecdsa-p256', 'ecdsa-p384'] as const)(
    'may have a key of %s',
    async (algorithm) => {
      await verify(await leafOf({ algorithm }));
    },
  );

  it('may say nothing of key usage, which allows all', async () => {
    await verify(await leafOf({ extensions: ['basicConstraints = CA:FALSE'] }));
  });

  it('is refused for another key', async () => {
    const error = await failure(verify(await leafOf(), { key: keyOf(issuing) }));
    expect(error.code).toBe('issuer.wrong-key');
  });

  it.each([
    ['is a CA', { extensions: CA }, 'is a CA itself'],
    ['may not sign', { extensions: ['keyUsage = critical, keyEncipherment'] }, 'digital signatures'],
    ['has a short RSA key', { algorithm: 'rsa-1024' }, '1024 bits'],
    ['has an Ed25519 key', { algorithm: 'ed25519' }, 'ed25519'],
    [
      'has an unknown critical extension',
      { extensions: [...LEAF, '1.2.3.4 = critical, ASN1:NULL'] },
      '1.2.3.4',
    ],
  ] as const)('is refused when it %s', async (_what, options, why) => {
    const error = await failure(verify(await leafOf(options)));
    expect(error.code).toBe('issuer.usage');
    expect(error.message).toContain(why);
  });

  it.each([
    [
      'it has expired',
      { from: new Date(Date.now() - 20 * DAY), to: new Date(Date.now() - DAY) },
      'expired at',
    ],
    ['it would be renewed at once', { to: new Date(Date.now() + 29 * DAY) }, 'due for renewal'],
    ['it begins later, by the clock skew', { from: new Date(Date.now() + 420_000) }, 'clock skew'],
    ['it outlives its CA', { to: new Date(Date.now() + 1001 * DAY) }, 'so not at'],
  ])('is refused when %s', async (_what, options, why) => {
    const error = await failure(verify(await leafOf(options)));
    expect(error.code).toBe('issuer.dates');
    expect(error.message).toContain(why);
  });

  it('says how far the clocks are apart', async () => {
    const now = new Date();
    const error = await failure(verify(await leafOf({ from: new Date(now.getTime() + 420_000) }), { now }));
    expect(error.message).toMatch(/ (6m 59s|7m) from now/);
  });

  it('is refused under an expired intermediate, though the root is good', async () => {
    const expired = await pki.certificate('expired', {
      issuer: root,
      extensions: CA,
      from: new Date(Date.now() - 20 * DAY),
      to: new Date(Date.now() - DAY),
    });
    const leaf = await leafOf({ issuer: expired });
    const error = await failure(verify(leaf, { pem: leaf.pem + expired.pem, anchors: [root] }));
    expect(error.code).toBe('issuer.dates');
    expect(error.message).toContain('CN=expired');
  });

  it('is refused when its chain is out of order, or has a gap', async () => {
    const leaf = await leafOf();
    for (const pem of [leaf.pem + root.pem + issuing.pem, leaf.pem + root.pem])
      expect((await failure(verify(leaf, { pem, anchors: [root] }))).code).toBe('issuer.chain');
    expect((await failure(verify(leaf, { anchors: [root] }))).code).toBe('issuer.chain');
  });

  it('is refused when another CA signed it, of the same name and the same key identifier', async () => {
    const other = await TestPki.create();
    const impostor = await other.certificate('root', {
      extensions: [...CA, 'subjectKeyIdentifier = 11:22:33:44', 'authorityKeyIdentifier = none'],
    });
    const real = await pki.certificate('root', { extensions: [...CA, 'subjectKeyIdentifier = 11:22:33:44'] });
    const leaf = await leafOf({ issuer: impostor, extensions: [...LEAF, 'authorityKeyIdentifier = keyid'] });
    const error = await failure(verify(leaf, { anchors: [real] }));
    expect(error.code).toBe('issuer.chain');
    expect(error.message).toContain('the signature is not that of CN=root');
    await other.remove();
  });

  it('is refused when its CA has changed its key identifier since', async () => {
    const once = await pki.certificate('moved', {
      extensions: [...CA, 'subjectKeyIdentifier = 11:22:33:44'],
    });
    const leaf = await leafOf({ issuer: once, extensions: [...LEAF, 'authorityKeyIdentifier = keyid'] });
    const keyFile = once.keyFile;
    const now = await pki.certificate('moved', {
      keyFile,
      extensions: [...CA, 'subjectKeyIdentifier = 55:66:77:88'],
    });
    const error = await failure(verify(leaf, { anchors: [now] }));
    expect(error.code).toBe('issuer.chain');
    expect(error.message).toContain('authority key identifier');
  });

  it('is refused when the name of its CA is written in other bytes, which Go takes for another name', async () => {
    const key = await pki.key('bytes');
    const selfSigned = async (file: string, ...mask: readonly string[]): Promise<TestCert> => {
      const config = pki.path('bytes.cnf');
      await writeFile(config, ['[req]', ...mask, 'distinguished_name = dn', '[dn]', ''].join('\n'));
      const certFile = pki.path(file);
      const as = ['-subj', '/CN=bytes', '-days', '900', '-addext', 'keyUsage = critical, keyCertSign'];
      await openssl('req', '-x509', '-new', '-key', key, '-config', config, ...as, '-out', certFile);
      return { certFile, keyFile: key, pem: await readFile(certFile, 'utf8'), key: '' };
    };
    const [utf8, printable] = [
      await selfSigned('utf8.crt', 'string_mask = utf8only'),
      await selfSigned('printable.crt', 'string_mask = nombstr'),
    ];
    const leaf = await leafOf({ issuer: utf8 });
    const error = await failure(verify(leaf, { anchors: [printable] }));
    expect(error.code).toBe('issuer.chain');
    expect(error.message).toContain("issuer's name");
  });

  it.each([
    ['is a leaf', LEAF],
    ['has the usage but is no CA', ['basicConstraints = CA:FALSE', 'keyUsage = critical, keyCertSign']],
    ['is a CA without the usage', ['basicConstraints = critical, CA:TRUE', 'keyUsage = critical, cRLSign']],
  ])('is refused when what signed it %s', async (_what, extensions) => {
    const signer = await leafOf({ extensions });
    const leaf = await leafOf({ issuer: signer });
    const error = await failure(verify(leaf, { pem: leaf.pem + signer.pem }));
    expect(error.code).toBe('issuer.chain');
    expect(error.message).toContain('may not sign certificates');
  });

  it('is refused when it is signed with SHA-1', async () => {
    const leaf = await leafOf({ digest: 'sha1' });
    const error = await failure(verify(leaf));
    expect(error.code).toBe('issuer.chain');
    expect(error.message).toContain('sha-1');
  });

  it.each([
    ['nothing', '', 'no PEM block'],
    ['words', 'sorry, come back later', 'no PEM block'],
    ['a damaged block', '-----BEGIN CERTIFICATE-----\nAAA\n-----END CERTIFICATE-----\n', 'base64'],
    [
      'a block without a certificate',
      '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
      'line 1',
    ],
    ['a key', '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n', 'a PRIVATE KEY'],
  ])('is no certificate when it is %s', async (_what, pem, why) => {
    const error = await failure(verify(await leafOf(), { pem }));
    expect(error.code).toBe('issuer.answer');
    expect(error.message).toContain(why);
  });
});
