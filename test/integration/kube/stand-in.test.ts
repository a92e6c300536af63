import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clusterFileSchema } from '../../../src/cluster/schema.js';
import type { ApiServer } from '../../../src/kube/api-server.js';
import { openApiServers } from '../../../src/kube/connect.js';
import { parseApiserverFlags } from '../../../src/kube/flags.js';
import { assembleToken, digestOf, probeTokenInput } from '../../../src/kube/probe-token.js';
import { kidOf } from '../../../src/pem/keys.js';
import { Keys } from '../../playground/apiserver/keys.js';
import type { State } from '../../playground/apiserver/routes.js';
import { createApiserver } from '../../playground/apiserver/server.js';
import { openssl, TestPki, type TestAlgorithm } from '../../support/pki.js';

const ACCOUNT = { namespace: 'kube-system', name: 'default' };
const SERVER_NAME = 'kubernetes.default.svc';
const ALGORITHMS: readonly TestAlgorithm[] = ['rsa-2048', 'ecdsa-p256', 'ecdsa-p384'];

interface ControlPlane {
  readonly keyFile: string;
  readonly publicKeyPem: string;
  readonly state: State;
  readonly server: Server;
}

let pki: TestPki;
let planes: readonly ControlPlane[];
let apis: readonly ApiServer[];

/** The playground's stand-in, in this process, that verifies with the public keys in these files. */
const start = async (keyFile: string, publicFiles: readonly string[]): Promise<ControlPlane> => {
  const flags = [
    `--service-account-signing-key-file=${keyFile}`,
    '--service-account-issuer=https://issuer.example.net',
    ...publicFiles.map((file) => `--service-account-key-file=${file}`),
  ];
  const state: State = { keys: new Keys(parseApiserverFlags(flags)), stopping: false };
  const files = { cert: pki.path('serving.crt'), key: pki.path('serving.key'), clientCa: pki.path('ca.crt') };
  const server = (await createApiserver(files, state)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { keyFile, publicKeyPem: await openssl('pkey', '-in', keyFile, '-pubout'), state, server };
};

beforeAll(async () => {
  pki = await TestPki.create();
  const ca = await pki.certificate('ca', { ca: true });
  await pki.certificate('serving', { issuer: ca, sans: [`DNS:${SERVER_NAME}`] });
  await pki.key('admin');
  await openssl(
    ...['req', '-x509', '-new', '-key', pki.path('admin.key'), '-subj', '/O=system:masters/CN=admin'],
    ...['-CA', ca.certFile, '-CAkey', ca.keyFile, '-days', '1', '-out', pki.path('admin.crt')],
  );
  const keys = await Promise.all(
    ALGORITHMS.map(async (algorithm) => {
      const keyFile = await pki.key(`sa-${algorithm}`, algorithm);
      const publicFile = pki.path(`sa-${algorithm}.pub`);
      await writeFile(publicFile, await openssl('pkey', '-in', keyFile, '-pubout'));
      return { keyFile, publicFile };
    }),
  );
  // The first trusts everyone; the others only themselves.
  planes = await Promise.all(
    keys.map(({ keyFile, publicFile }, at) =>
      start(keyFile, at === 0 ? keys.map((key) => key.publicFile) : [publicFile]),
    ),
  );
  const name = (at: number): string => `cp${at + 1}.example.net`;
  await writeFile(
    pki.path('kubeconfig'),
    JSON.stringify({
      'current-context': 'test',
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
      clusters: [
        { name: 'test', cluster: { server: 'https://vip.example.net', 'certificate-authority': 'ca.crt' } },
      ],
      users: [{ name: 'test', user: { 'client-certificate': 'admin.crt', 'client-key': 'admin.key' } }],
    }),
  );
  const settings = clusterFileSchema.shape.api.parse({
    kubeconfig: 'kubeconfig',
    ports: Object.fromEntries(
      planes.map(({ server }, at) => [name(at), (server.address() as AddressInfo).port]),
    ),
  });
  const hosts = planes.map((_plane, at) => ({ name: name(at), address: '127.0.0.1' }));
  apis = [...(await openApiServers(settings, pki.dir, hosts)).values()];
});
afterAll(async () => {
  for (const { server } of planes) {
    server.closeAllConnections();
    server.close();
  }
  await pki.remove();
});

const shown = async () => Promise.all(apis.map(async (api) => api.processCertificate()));

describe('three apiservers, each asked at its own address', () => {
  it('show which process answers: to each the same every time, and to no two the same', async () => {
    const [first, again] = [await shown(), await shown()];
    expect(again).toEqual(first);
    expect(new Set(first).size).toBe(apis.length);
    for (const digest of first) expect(digest).toMatch(/^[0-9a-f]{64}$/);
    // openssl sees the same one.
    const { port } = planes[0]!.server.address() as AddressInfo;
    const chain = await execa('sh', [
      ...['-c', 'openssl s_client -connect "$1" -servername apiserver-loopback-client </dev/null 2>&1'],
      ...['sh', `127.0.0.1:${port}`],
    ]);
    const seen = new X509Certificate(
      /-----BEGIN[^]*?-----END CERTIFICATE-----/.exec(chain.stdout)?.[0] ?? '',
    );
    expect(seen.fingerprint256.replaceAll(':', '').toLowerCase()).toBe(first[0]);
  });

  it('list their own keys', async () => {
    const kids = planes.map(({ publicKeyPem }) => kidOf(publicKeyPem));
    const lists = await Promise.all(apis.map(async (api) => [...(await api.jwks()).keys()]));
    expect(lists).toEqual([kids, kids.slice(1, 2), kids.slice(2)]);
  });

  it.each(ALGORITHMS.map((algorithm, at) => [algorithm, at] as const))(
    'accept tokens minted with a key of kind %s only where it is known',
    async (_algorithm, at) => {
      const minted = await apis[at]?.mintToken(ACCOUNT, 600);
      expect(minted).toMatchObject({
        kid: kidOf(planes[at]?.publicKeyPem ?? ''),
        issuer: 'https://issuer.example.net',
        audiences: ['https://issuer.example.net'],
      });
      const reviews = await Promise.all(apis.map((api) => api.reviewToken(minted?.token ?? '')));
      expect(reviews.map(({ authenticated }) => authenticated)).toEqual(
        planes.map((_plane, verifier) => verifier === 0 || verifier === at),
      );
    },
  );

  it.each(ALGORITHMS.map((algorithm, at) => [algorithm, at] as const))(
    'accept a probe token that openssl signed with a key of kind %s as they do minted ones',
    async (_algorithm, at) => {
      const [first] = apis;
      const { keyFile = '', publicKeyPem = '' } = planes[at] ?? {};
      const sample = await first?.mintToken(ACCOUNT, 600);
      const input = probeTokenInput({
        issuer: sample?.issuer ?? '',
        audiences: sample?.audiences ?? [],
        serviceAccount: ACCOUNT,
        uid: (await first?.serviceAccountUid(ACCOUNT)) ?? '',
        kid: kidOf(publicKeyPem),
        publicKeyPem,
        now: new Date(),
        ttlSeconds: 600,
      });
      const { stdout } = await execa('openssl', ['dgst', `-${digestOf(publicKeyPem)}`, '-sign', keyFile], {
        input,
        encoding: 'buffer',
      });
      const token = assembleToken(input, Buffer.from(stdout), publicKeyPem);
      const reviews = await Promise.all(apis.map((api) => api.reviewToken(token)));
      expect(reviews.map(({ authenticated }) => authenticated)).toEqual(
        planes.map((_plane, verifier) => verifier === 0 || verifier === at),
      );
    },
  );

  it('are ready, until one of them shuts down', async () => {
    const [first, second] = apis;
    expect(await first?.readyz()).toEqual({ ready: true, detail: 'HTTP 200' });
    const state = planes[1]?.state;
    if (state) state.stopping = true;
    expect(await second?.readyz()).toEqual({
      ready: false,
      detail: '[-]shutdown failed: reason withheld',
    });
    expect((await first?.readyz())?.ready).toBe(true);
  });
});
