import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clusterFileSchema } from '../../../src/cluster/schema.js';
import { openApiTargets } from '../../../src/kube/connect.js';
import { trustObjects, type TrustObjects } from '../../../src/kube/trust-objects.js';
import { failure } from '../../support/failure.js';
import { FakeApiserver } from './fake.js';

let fake: FakeApiserver;
const asked: string[] = [];
beforeAll(async () => {
  fake = await FakeApiserver.start();
});
afterAll(() => fake.stop());

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const objects = async (): Promise<TrustObjects> => {
  const settings = clusterFileSchema.shape.api.parse({
    kubeconfig: await fake.kubeconfig(),
    port: fake.port,
  });
  const targets = await openApiTargets(settings, fake.pki.dir, [{ name: 'cp1', address: '127.0.0.1' }]);
  return trustObjects(targets.get('cp1')!);
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

  it('are told to be missing where they may not be listed; Secrets are not asked for', async () => {
    answers({ apiservices: [] });
    const { bundles, unread } = await objects();
    expect(bundles).toEqual([]);
    expect(unread).toHaveLength(6);
    expect(asked.every((each) => each.startsWith('GET ') && !each.includes('secrets'))).toBe(true);
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
