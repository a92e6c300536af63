import { writeFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Issuer } from '../../../src/issuers/issuer.js';
import { openIssuer } from '../../../src/issuers/open.js';
import { certificateAnswer, cfsslSettings, LyingPki, type Lie } from '../../support/cfssl.js';
import { failure } from '../../support/failure.js';
import { DAY, TestPki, type TestCert, type TestCertOptions } from '../../support/pki.js';

const LEAF = ['basicConstraints = critical, CA:FALSE', 'keyUsage = critical, digitalSignature'];

let pki: TestPki;
let ca: TestCert;
let server: TestCert;
let csrPem: string;
let lying: LyingPki | undefined;
let names = 0;

beforeAll(async () => {
  pki = await TestPki.create();
  ca = await pki.certificate('ca', { ca: true, to: new Date(Date.now() + 1000 * DAY) });
  server = await pki.certificate('server', { issuer: ca, sans: ['DNS:localhost'] });
  csrPem = await pki.csr('sa', await pki.key('sa'));
  await writeFile(pki.path('auth.key'), 'c0ffee');
});
afterEach(async () => {
  await lying?.stop();
  lying = undefined;
});
afterAll(async () => pki.remove());

/** An issuer at a PKI that answers `authsign` with that lie, and `info` with its CA or another lie. */
const liar = async (authsign: () => Lie, info?: () => Lie): Promise<Issuer> => {
  const honest = (): Lie => certificateAnswer(ca.pem, { usages: ['signing'], expiry: '8760h0m0s' });
  lying = await LyingPki.start(server, { authsign, info: info ?? honest });
  const settings = cfsslSettings({ url: lying.url, ca: 'ca.crt', authKey: { file: 'auth.key' } });
  const issuer = await openIssuer(settings, pki.dir, { timeoutMs: 1000 });
  if (!issuer) throw new Error('no issuer');
  return issuer;
};
/** A certificate for the right key, but for what the options say. */
const leaf = async (options: TestCertOptions = {}): Promise<string> => {
  const name = `leaf${(names += 1)}`;
  const { pem } = await pki.certificate(name, {
    issuer: ca,
    keyFile: pki.path('sa.key'),
    extensions: LEAF,
    ...options,
  });
  return certificateAnswer(pem);
};
const issue = async (issuer: Issuer) => issuer.issue({ csrPem, ttlMs: 365 * DAY, now: new Date() });

describe('a PKI that lies', () => {
  it('is believed as long as it does not (so the stand-in itself is right)', async () => {
    const answer = await leaf();
    const issued = await issue(await liar(() => answer));
    expect(issued.pem).toContain('BEGIN CERTIFICATE');
  });

  it.each([
    [
      'a certificate of another key',
      async () => leaf({ keyFile: await pki.key('other') }),
      'issuer.wrong-key',
    ],
    [
      'an expired one',
      async () => leaf({ from: new Date(Date.now() - 9 * DAY), to: new Date(Date.now() - DAY) }),
      'issuer.dates',
    ],
    ['one of the future', async () => leaf({ from: new Date(Date.now() + DAY) }), 'issuer.dates'],
    [
      'one that is due for renewal',
      async () => leaf({ to: new Date(Date.now() + 20 * DAY) }),
      'issuer.dates',
    ],
    [
      'one of another CA',
      async () => leaf({ issuer: await pki.certificate('else', { ca: true }) }),
      'issuer.chain',
    ],
    ['a CA', async () => leaf({ extensions: ['basicConstraints = CA:TRUE'] }), 'issuer.usage'],
    ['its own certificate', () => certificateAnswer(ca.pem), 'issuer.wrong-key'],
    ['nothing', () => '', 'issuer.answer'],
    ['garbage', () => '\u001b[31m<html>', 'issuer.answer'],
    ['JSON of another shape', () => '{"success":true,"result":{"certificate":7}}', 'issuer.answer'],
    ['success without a result', () => '{"success":true,"result":null}', 'issuer.refused'],
    ['a certificate that is none', () => certificateAnswer('hello'), 'issuer.answer'],
    ['a certificate of no end', () => certificateAnswer('A'.repeat(300_000)), 'issuer.answer'],
    ['a page of a proxy', () => ({ status: 502, body: '<html>Bad Gateway' }), 'issuer.answer'],
    ['50 MB', () => ({ does: 'flood' as const }), 'issuer.answer'],
    ['silence', () => ({ does: 'hang' as const }), 'issuer.timeout'],
    ['a broken connection', () => ({ does: 'reset' as const }), 'issuer.unreachable'],
  ])('is not believed when it gives %s', async (_what, make, code) => {
    const answer = await make();
    const error = await failure(issue(await liar(() => answer)));
    expect(error.code).toBe(code);
    expect(error.message).not.toContain('c0ffee');
    expect(error.message).not.toMatch(/[\u0000-\u001f]/);
  });

  it.each([
    [
      'a CA that has expired',
      async () => pki.certificate('old', { ca: true, from: new Date(0), to: new Date(Date.now() - DAY) }),
      'issuer.ca-expired',
    ],
    [
      'a CA of the future',
      async () => pki.certificate('new', { ca: true, from: new Date(Date.now() + DAY) }),
      'issuer.ca-not-yet-valid',
    ],
    [
      'a CA that is about to end',
      async () => pki.certificate('end', { ca: true, to: new Date(Date.now() + 20 * DAY) }),
      'issuer.ca-too-short',
    ],
  ])('is asked to sign nothing when it names %s', async (_what, make, code) => {
    const { pem } = await make();
    const issuer = await liar(
      () => '',
      () => certificateAnswer(pem),
    );
    expect(await failure(issuer.check(new Date()))).toMatchObject({ code, exit: 4 });
    expect(await failure(issue(issuer))).toMatchObject({ code, exit: 4 });
    expect(lying?.asked.get('authsign')).toBeUndefined();
  });

  it('may refuse in words that the terminal does not obey, and not too many of them', async () => {
    const message = `\u001b[2J\u0007no ${'x'.repeat(5000)}`;
    const body = JSON.stringify({ success: false, errors: [{ message }] });
    const error = await failure(issue(await liar(() => ({ status: 400, body }))));
    expect(error.code).toBe('issuer.refused');
    expect(error.message.length).toBeLessThan(500);
    expect(error.message).not.toMatch(/[\u0000-\u001f]/);
  });
});

describe('a request to the PKI', () => {
  it('is sent once more when the connection broke before an answer', async () => {
    const [right, answers] = [await leaf(), [{ does: 'reset' as const }]];
    const issued = await issue(await liar(() => answers.pop() ?? right));
    expect(issued.serial).toMatch(/^[0-9A-F]+$/);
    expect(lying?.asked.get('authsign')).toBe(2);
  });

  it('is sent once only when nothing is answered in time, or nonsense', async () => {
    for (const lie of [{ does: 'hang' as const }, 'nonsense']) {
      await failure(issue(await liar(() => lie)));
      expect(lying?.asked.get('authsign')).toBe(1);
      await lying?.stop();
      lying = undefined;
    }
  });
});
