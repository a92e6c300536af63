import { readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { execCredentials } from '../../../src/kube/exec-credentials.js';
import { failure } from '../../support/failure.js';
import { allOf, FakeApiserver, SERVER_NAME } from './fake.js';

let fake: FakeApiserver;
beforeAll(async () => {
  fake = await FakeApiserver.start();
});
afterAll(async () => fake.stop());

/** Answers with the version, and remembers who asked how. */
const remember = () => {
  const seen: { subject: string | undefined; authorization: string | undefined; servername: unknown }[] = [];
  fake.handler = (request: IncomingMessage, response) => {
    const { socket } = request;
    if (!(socket instanceof TLSSocket)) throw new Error('not TLS');
    const { subject } = socket.getPeerCertificate() as { subject?: { CN: string } };
    seen.push({
      subject: subject?.CN,
      authorization: request.headers.authorization,
      servername: 'servername' in socket ? socket.servername : undefined,
    });
    response.end('{"gitVersion":"v1.34.4"}');
  };
  return seen;
};

describe('the credentials of a kubeconfig', () => {
  const data = async (name: string): Promise<string> =>
    (await readFile(fake.pki.path(name))).toString('base64');

  it('may be files beside it', async () => {
    const seen = remember();
    expect(await (await fake.open()).version()).toBe('v1.34.4');
    expect(seen).toEqual([{ subject: 'client', authorization: undefined, servername: SERVER_NAME }]);
  });

  it('may stand in it', async () => {
    const seen = remember();
    const user = {
      'client-certificate-data': await data('client.crt'),
      'client-key-data': await data('client.key'),
    };
    const cluster = {
      'certificate-authority': undefined,
      'certificate-authority-data': await data('ca.crt'),
      // Each apiserver is asked at its own address, whatever stands here.
      'tls-server-name': 'vip.example.net',
      'proxy-url': 'http://127.0.0.1:1',
    };
    await (await fake.open({}, [user, cluster])).version();
    expect(seen).toMatchObject([{ subject: 'client', servername: SERVER_NAME }]);
  });

  it('may be a token', async () => {
    const seen = remember();
    await (await fake.open({}, [{ token: 'one-two' }])).version();
    expect(seen).toMatchObject([{ subject: undefined, authorization: 'Bearer one-two' }]);
  });

  it('may be a name and a password, for another user', async () => {
    const seen: (readonly (string | string[] | undefined)[])[] = [];
    fake.handler = ({ headers }, response) => {
      seen.push([headers.authorization, headers['impersonate-user']]);
      response.end('{"gitVersion":"v1.34.4"}');
    };
    await (await fake.open({}, [{ username: 'jane', password: 'hunter2', as: 'joe' }])).version();
    expect(seen).toEqual([[`Basic ${Buffer.from('jane:hunter2').toString('base64')}`, 'joe']]);
  });

  it('may come from a provider that client-node knows', async () => {
    const seen = remember();
    const tokenFile = fake.pki.path('token');
    await writeFile(tokenFile, 'from-a-file');
    await (
      await fake.open({}, [{ 'auth-provider': { name: 'tokenFile', config: { tokenFile } } }])
    ).version();
    expect(seen).toMatchObject([{ subject: undefined, authorization: 'Bearer from-a-file' }]);
  });

  const exec = (status: string, count: string): object => ({
    exec: {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: 'sh',
      args: ['-c', `echo >>${count}; printf '{"status":%s}' "$ANSWER"`],
      env: [{ name: 'ANSWER', value: status }],
    },
  });
  const runs = async (count: string): Promise<number> => (await readFile(count, 'utf8')).length;

  it('may come from a program, which is run once as long as they are good', async () => {
    const seen = remember();
    const count = fake.pki.path('runs-good');
    const server = await fake.open({}, [exec('{"token":"from-a-program"}', count)]);
    await server.version();
    await server.version();
    expect(seen.map(({ authorization }) => authorization)).toEqual(Array(2).fill('Bearer from-a-program'));
    expect(await runs(count)).toBe(1);
  });

  it('are asked for again when they have expired', async () => {
    remember();
    const count = fake.pki.path('runs-expired');
    const status = '{"token":"t","expirationTimestamp":"2020-01-01T00:00:00Z"}';
    const server = await fake.open({}, [exec(status, count)]);
    await server.version();
    await server.version();
    expect(await runs(count)).toBe(2);
  });

  it('may be a certificate that a program gives', async () => {
    const seen = remember();
    const status = JSON.stringify({
      clientCertificateData: fake.client.pem,
      clientKeyData: fake.client.key,
    });
    await (await fake.open({}, [exec(status, fake.pki.path('runs-cert'))])).version();
    expect(seen).toMatchObject([{ subject: 'client' }]);
  });
});

describe('credentials that are not good', () => {
  const exec = (script: string): object => ({
    exec: {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: 'sh',
      args: ['-c', script],
      interactiveMode: 'Never',
    },
  });

  it('are named when a file of the kubeconfig is missing', async () => {
    const server = await fake.open({}, [{ 'client-certificate': 'gone.crt', 'client-key': 'client.key' }]);
    const error = await failure(server.version());
    expect(error).toMatchObject({ code: 'kube.credentials', host: 'cp1.example.net' });
    expect(error.message).toContain('gone.crt');
  });

  it('are named when certificate and key are no pair', async () => {
    const { keyFile } = await fake.pki.certificate('another', { issuer: fake.ca });
    const server = await fake.open({}, [{ 'client-certificate': 'client.crt', 'client-key': keyFile }]);
    expect((await failure(server.version())).code).toBe('kube.credentials');
  });

  it('are named when the program that gives them fails', async () => {
    const server = await fake.open({}, [exec('exit 3')]);
    const error = await failure(server.version());
    expect(error.code).toBe('kube.credentials');
    expect(error.message).toContain('sh, which the kubeconfig names, exited with 3');
  });

  it('are named when that program is not there', async () => {
    const server = await fake.open({}, [{ exec: { command: 'certroll-no-such-program' } }]);
    const error = await failure(server.version());
    expect(error.code).toBe('kube.credentials');
    expect(error.message).toContain('certroll-no-such-program');
  });

  it('are not waited for without end', async () => {
    const ask = execCredentials({ command: 'sleep', args: ['60'] }, '/kubeconfig', 200);
    await expect(ask()).rejects.toThrow('did not end within 200 ms');
  });

  it('do not come into an error when they are not understood', async () => {
    const server = await fake.open({}, [exec('echo "hunter2hunter2 {"')]);
    const error = await failure(server.version());
    expect(error.code).toBe('kube.credentials');
    expect(error.message).toContain('printed no ExecCredential');
    expect(allOf(error)).not.toContain('hunter2');
  });

  it('never make readyz throw', async () => {
    const server = await fake.open({}, [exec('exit 1')]);
    expect(await server.readyz()).toMatchObject({ ready: false });
  });
});
