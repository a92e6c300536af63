import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clusterFileSchema } from '../../../src/cluster/schema.js';
import { openApiTargets } from '../../../src/kube/connect.js';
import { trustObjects, type TrustObjects } from '../../../src/kube/trust-objects.js';
import { failure } from '../../support/failure.js';
import { allOf, FakeApiserver } from './fake.js';

let fake: FakeApiserver;
const asked: string[] = [];
beforeAll(async () => {
  fake = await FakeApiserver.start();
});
afterAll(() => fake.stop());

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const objects = async (wanted: { readonly secrets?: boolean } = {}): Promise<TrustObjects> => {
  const settings = clusterFileSchema.shape.api.parse({
    kubeconfig: await fake.kubeconfig(),
    port: fake.port,
  });
  const targets = await openApiTargets(settings, fake.pki.dir, [{ name: 'cp1', address: '127.0.0.1' }]);
  return trustObjects(targets.get('cp1')!, wanted);
};

/** Answers by the resource at the end of the path; what is not there is refused. */
const answers = (lists: Readonly<Record<string, readonly object[]>>): void => {
  fake.handler = (request, response) => {
    const url = new URL(request.url ?? '', 'https://x');
    asked.push(`${request.method ?? ''} ${url.pathname}`);
    const name = url.searchParams.get('fieldSelector')?.replace('metadata.name=', '');
    const items = lists[name ?? url.pathname.split('/').at(-1) ?? ''];
    response.writeHead(items ? 200 : 403, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(items ? { items } : { message: 'forbidden' }));
  };
};

describe('the objects of trust in the API', () => {
  it('are bundles wherever they stand, and requests that nobody has decided on', async () => {
    const webhook = (caBundle?: string) => ({ name: 'w', clientConfig: { caBundle } });
    answers({
      'kube-root-ca.crt': [
        { metadata: { name: 'kube-root-ca.crt', namespace: 'a' }, data: { 'ca.crt': 'A' } },
      ],
      'extension-apiserver-authentication': [
        {
          metadata: { name: 'extension-apiserver-authentication', namespace: 'kube-system' },
          data: { 'requestheader-client-ca-file': 'B', 'requestheader-allowed-names': '[]' },
        },
      ],
      'cluster-info': [
        {
          metadata: { name: 'cluster-info', namespace: 'kube-public' },
          data: { kubeconfig: `clusters:\n- cluster:\n    certificate-authority-data: ${base64('C')}\n` },
        },
      ],
      validatingwebhookconfigurations: [
        { metadata: { name: 'v' }, webhooks: [webhook(base64('D')), webhook()] },
      ],
      mutatingwebhookconfigurations: [{ metadata: { name: 'm' }, webhooks: null }],
      apiservices: [
        { metadata: { name: 's' }, spec: { caBundle: base64('E') } },
        { metadata: { name: 'local' }, spec: {} },
      ],
      customresourcedefinitions: [{ metadata: { name: 'plain' }, spec: {} }],
      certificatesigningrequests: [
        {
          metadata: { name: 'waits', creationTimestamp: '2026-01-01T00:00:00Z' },
          spec: { signerName: 's' },
          status: {},
        },
        {
          metadata: { name: 'denied' },
          spec: { signerName: 's' },
          status: { conditions: [{ type: 'Denied' }] },
        },
      ],
    });
    const { bundles, pending, unread } = await objects();
    expect(bundles.map(({ name, part, pem }) => `${name} ${part} ${pem}`)).toEqual([
      'kube-root-ca.crt data.ca.crt A',
      'extension-apiserver-authentication data.requestheader-client-ca-file B',
      'cluster-info data.kubeconfig C',
      'v w D',
      's spec.caBundle E',
    ]);
    expect(pending).toMatchObject([{ name: 'waits', signer: 's' }]);
    expect(unread).toEqual([]);
  });

  it('say where kube-apiserver finds those whom they verify', async () => {
    const service = (name: string, port?: number) => ({ namespace: 'n', name, ...(port && { port }) });
    const caBundle = base64('A');
    answers({
      'kube-root-ca.crt': [],
      'extension-apiserver-authentication': [],
      'cluster-info': [],
      certificatesigningrequests: [],
      validatingwebhookconfigurations: [
        {
          metadata: { name: 'v' },
          webhooks: [
            { name: 'by-url', clientConfig: { caBundle, url: 'https://hook.example.net:9443/x' } },
            { name: 'by-v6', clientConfig: { caBundle, url: 'https://[fd00::1]/x' } },
            { name: 'by-service', clientConfig: { caBundle, service: service('hook') } },
            { name: 'gone', clientConfig: { caBundle, service: service('gone') } },
            { name: 'system-roots', clientConfig: { service: service('hook') } },
          ],
        },
      ],
      mutatingwebhookconfigurations: [],
      apiservices: [
        { metadata: { name: 'v1.metrics' }, spec: { caBundle, service: service('metrics', 8443) } },
        { metadata: { name: 'v1.apps' }, spec: { service: null } },
      ],
      customresourcedefinitions: [
        {
          metadata: { name: 'crd' },
          spec: { conversion: { webhook: { clientConfig: { caBundle, service: service('headless') } } } },
        },
        { metadata: { name: 'none' }, spec: { conversion: { strategy: 'None' } } },
      ],
    });
    const lists = fake.handler;
    fake.handler = (request, response) => {
      const name = /^\/api\/v1\/namespaces\/n\/services\/(\w+)$/.exec(request.url ?? '')?.[1];
      if (name === undefined) {
        lists(request, response);
        return;
      }
      const addresses: Record<string, string> = { hook: '10.0.0.9', metrics: 'fd00::9', headless: 'None' };
      const clusterIP = addresses[name];
      response.writeHead(clusterIP === undefined ? 404 : 200, { 'Content-Type': 'application/json' });
      response.end(
        JSON.stringify(clusterIP === undefined ? { message: 'not found' } : { spec: { clusterIP } }),
      );
    };
    const { bundles, unread } = await objects();
    expect(
      bundles.map(({ name, part, serves }) => `${name} ${part} ${Object.values(serves ?? {}).join(' ')}`),
    ).toEqual([
      'v by-url hook.example.net:9443 hook.example.net',
      'v by-v6 [fd00::1]:443 fd00::1',
      'v by-service 10.0.0.9:443 hook.n.svc',
      'v gone ',
      'v1.metrics spec.caBundle [fd00::9]:8443 metrics.n.svc',
      'crd spec.conversion.webhook ',
    ]);
    expect(unread).toEqual([]);
  });

  it('are told to be incomplete where the address of a Service may not be read', async () => {
    const clientConfig = { caBundle: base64('A'), service: { namespace: 'n', name: 'hook' } };
    const webhooks = [
      { name: 'w', clientConfig },
      { name: 'x', clientConfig },
    ];
    answers({ validatingwebhookconfigurations: [{ metadata: { name: 'v' }, webhooks }] });
    const { bundles, unread } = await objects();
    expect(bundles.map(({ serves }) => serves)).toEqual([undefined, undefined]);
    expect(unread.filter(({ what }) => what === 'services')).toHaveLength(1);
  });

  it('are told to be missing where they may not be listed; Secrets are not asked for', async () => {
    answers({ apiservices: [] });
    const { bundles, unread } = await objects();
    expect(bundles).toEqual([]);
    expect(unread).toHaveLength(7);
    expect(asked.every((each) => each.startsWith('GET ') && !each.includes('secrets'))).toBe(true);
  });

  it('are TLS Secrets too where those are asked for, of whose keys only the public half is kept', async () => {
    const { pem, key } = fake.client;
    const secret = (name: string, type: string, data: Record<string, string>) => ({
      ...{ metadata: { namespace: 'n', name }, type },
      data: Object.fromEntries(Object.entries(data).map(([part, text]) => [part, base64(text)])),
    });
    const tls = 'kubernetes.io/tls';
    fake.handler = (request, response) => {
      const url = new URL(request.url ?? '', 'https://x');
      const isSecrets = url.pathname.endsWith('/secrets');
      if (isSecrets) expect(url.searchParams.get('fieldSelector')).toBe(`type=${tls}`);
      const items = isSecrets
        ? [
            secret('good', tls, { 'tls.crt': pem, 'tls.key': key }),
            secret('empty', tls, {}),
            secret('odd', tls, { 'tls.crt': pem, 'tls.key': 'nothing' }),
            secret('other', 'Opaque', { 'tls.crt': pem, 'tls.key': key }),
          ]
        : [];
      response.end(JSON.stringify({ items }));
    };
    const { secrets = [] } = await objects({ secrets: true });
    expect(secrets.map((each) => [each.name, each.pem, each.publicKeyPem?.split('\n')[0]])).toEqual([
      ['good', pem, '-----BEGIN PUBLIC KEY-----'],
      ['empty', '', undefined],
      ['odd', pem, undefined],
    ]);
    expect(allOf(secrets)).not.toContain('PRIVATE');
    expect((await objects()).secrets).toBeUndefined();
  });

  it('are none of a kind that the apiserver does not serve', async () => {
    fake.answers(404, { message: 'the server could not find the requested resource' });
    expect(await objects()).toEqual({ bundles: [], pending: [], unread: [] });
  });

  it('are a failure where nobody answers', async () => {
    fake.handler = (request) => request.socket.destroy();
    expect((await failure(objects())).code).toMatch(/^kube\./);
  });
});
