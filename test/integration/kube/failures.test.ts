import { generateKeyPairSync } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openApiServers } from '../../../src/kube/connect.js';
import { failure } from '../../support/failure.js';
import { freePort } from '../../support/ports.js';
import { allOf, FakeApiserver } from './fake.js';

const ACCOUNT = { namespace: 'kube-system', name: 'default' };
let fake: FakeApiserver;
beforeAll(async () => {
  fake = await FakeApiserver.start();
});
afterAll(async () => fake.stop());

describe('an apiserver that cannot be asked', () => {
  it('is unreachable when nobody listens, and says where', async () => {
    const port = await freePort();
    const error = await failure((await fake.open({ port })).version());
    expect(error).toMatchObject({ code: 'kube.unreachable', host: 'cp1.example.net' });
    expect(error.message).toContain(`cp1.example.net: GET https://127.0.0.1:${port}/version gave no answer`);
  });

  it('is given up when it does not answer in time', async () => {
    fake.handler = () => undefined;
    const error = await failure((await fake.open({ timeout: '300ms' })).jwks());
    expect(error).toMatchObject({ code: 'kube.timeout', host: 'cp1.example.net' });
    expect(error.message).toContain('no answer within 300 ms');
  });

  it('is given up when it begins an answer and does not end it in time', async () => {
    fake.handler = (_request, response) => {
      response.writeHead(200);
      response.write('{');
    };
    expect((await failure((await fake.open({ timeout: '300ms' })).jwks())).code).toBe('kube.timeout');
  });

  it('is unreachable when it hangs up in the middle of an answer', async () => {
    fake.handler = (_request, response) => {
      response.writeHead(200, { 'Content-Length': '100' });
      response.write('{', () => response.destroy());
    };
    expect((await failure((await fake.open()).jwks())).code).toBe('kube.unreachable');
  });

  it('is not listened to without end', async () => {
    fake.handler = (_request, response) => {
      response.writeHead(200);
      const more = Buffer.alloc(1024 * 1024, 'x');
      const send = (): void => {
        if (!response.destroyed) response.write(more, send);
      };
      send();
    };
    const error = await failure((await fake.open()).jwks());
    expect(error.message).toContain('more than 4194304 bytes');
  });
});

describe('an apiserver whose certificate is not good', () => {
  it('is told apart: another CA', async () => {
    const other = await fake.pki.certificate('other-ca', { ca: true });
    const error = await failure(
      (await fake.open({}, [undefined, { 'certificate-authority': other.certFile }])).version(),
    );
    expect(error.code).toBe('kube.tls');
    expect(error.hint).toContain('api.serverName');
  });

  it('is told apart: another name', async () => {
    expect((await failure((await fake.open({ serverName: 'api.example.net' })).version())).code).toBe(
      'kube.tls',
    );
  });

  it('is refused although the environment tells Node to check nothing', async () => {
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      expect((await failure((await fake.open({ serverName: 'api.example.net' })).version())).code).toBe(
        'kube.tls',
      );
    } finally {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
    }
  });

  it('is no reason to go on unchecked: a kubeconfig that says so is refused', async () => {
    const opened = fake.open({}, [
      undefined,
      { 'insecure-skip-tls-verify': true, 'certificate-authority': undefined },
    ]);
    const error = await failure(opened);
    expect(error).toMatchObject({ code: 'cluster-file.invalid', exit: 2 });
    expect(error.message).toContain('insecure-skip-tls-verify');
  });
});

describe('an apiserver that refuses', () => {
  it.each([
    [401, 'kube.unauthorized'],
    [403, 'kube.forbidden'],
    [406, 'kube.answer'],
    [500, 'kube.answer'],
  ])('with %s is %s, with its own words', async (status, code) => {
    fake.answers(status, { kind: 'Status', message: 'because of the moon' });
    const error = await failure((await fake.open()).mintToken(ACCOUNT, 600));
    expect(error).toMatchObject({ code, host: 'cp1.example.net' });
    expect(error.message).toContain(`answered ${status}: because of the moon`);
  });

  it('cannot send escape sequences to the terminal', async () => {
    fake.answers(502, '<html>\u001b[2J\nbad gateway');
    const error = await failure((await fake.open()).version());
    expect(error.message).toContain('answered 502: <html> | bad gateway');
  });
});

describe('an answer that is not understood', () => {
  it.each([
    ['no JSON', '<html>'],
    ['another JSON', { kind: 'List' }],
    ['a key that is none', { keys: [{ kty: 'RSA', n: 'AQAB' }] }],
    ['a key of another kind', { keys: [{ kty: 'oct', k: 'AQAB' }] }],
  ])('is said to be so: %s', async (_what, body) => {
    fake.answers(200, body);
    expect((await failure((await fake.open()).jwks())).code).toBe('kube.answer');
  });

  it.each([
    ['without a kid', [{ alg: 'RS256' }, { iss: 'https://issuer', aud: 'api' }]],
    ['without an issuer', [{ alg: 'RS256', kid: 'k' }, { aud: 'api' }]],
  ])('is said to be so: a token %s', async (_what, parts) => {
    const words = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
    fake.answers(201, { status: { token: [...words, 'c2lnbmF0dXJl'].join('.') } });
    const error = await failure((await fake.open()).mintToken(ACCOUNT, 600));
    expect(error.code).toBe('kube.answer');
    expect(allOf(error)).not.toContain('c2lnbmF0dXJl');
  });

  it('never brings a token into an error', async () => {
    fake.answers(201, '{"status":{"token":"eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0.c2lnbmF0dXJl" oops');
    expect(allOf(await failure((await fake.open()).mintToken(ACCOUNT, 600)))).not.toMatch(/eyJ|c2lnb/);
    fake.answers(422, { message: 'bad token eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0.c2lnbmF0dXJl, sorry' });
    const error = await failure((await fake.open()).reviewToken('t'));
    expect(error.message).toContain('bad token [token], sorry');
  });
});

describe('a kubeconfig that cannot be used', () => {
  const open = async (text: string | undefined, context?: string) => {
    const path = fake.pki.path('bad-kubeconfig');
    if (text === undefined) await rm(path, { force: true });
    else await writeFile(path, text);
    const settings = { kubeconfig: path, port: 1, serverName: 'x', timeout: '1s' };
    return openApiServers({ ...settings, ...(context !== undefined && { context }) }, '/', []);
  };

  it.each([
    ['is not there', undefined],
    ['is empty', ''],
    ['is a list', '- a\n'],
    ['has no context', 'apiVersion: v1\nkind: Config\n'],
  ])('is refused: one that %s', async (_what, text) => {
    const error = await failure(open(text));
    expect(error).toMatchObject({ code: 'cluster-file.invalid', exit: 2 });
    expect(error.message).toContain('bad-kubeconfig');
  });

  it('is refused when it has no such context', async () => {
    const path = await fake.kubeconfig();
    const settings = { kubeconfig: path, port: 1, serverName: 'x', timeout: '1s', context: 'other' };
    expect((await failure(openApiServers(settings, '/', []))).message).toContain('other');
  });

  it('does not come into the error with what is written in it', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }) as string;
    const data = Buffer.from(pem).toString('base64');
    const error = await failure(
      open(`users:\n- name: a\n  user:\n    client-key-data: ${data}\n   token: hunter2\n  x\n`),
    );
    expect(error.message).toMatch(/line \d+/);
    for (const secret of ['hunter2', data.slice(-40)]) expect(allOf(error)).not.toContain(secret);
  });
});
