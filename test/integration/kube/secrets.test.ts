import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { inspect } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Doors } from '../../../src/changes/change.js';
import { deleteSecret } from '../../../src/changes/delete-secret.js';
import { observeLegacyTokens } from '../../../src/run/observe-legacy-tokens.js';
import { failure } from '../../support/failure.js';
import { allOf, FakeApiserver } from './fake.js';

const TOKEN = 'eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0.c2lnbmF0dXJl';
const BASE64 = Buffer.from(TOKEN).toString('base64');
const REF = { namespace: 'apps', name: 'old' };
const VERSION = { ...REF, uid: 'u-1', resourceVersion: '41' };

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly accept: string;
  readonly body: string;
}

let fake: FakeApiserver;
let asked: Asked[] = [];
beforeAll(async () => {
  fake = await FakeApiserver.start();
});
afterAll(async () => fake.stop());
beforeEach(() => {
  asked = [];
});

/** Answers by what was asked, and remembers it. */
const answerBy = (answer: (request: Asked) => readonly [status: number, body: unknown]): void => {
  fake.handler = (request: IncomingMessage, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    void once(request, 'end').then(() => {
      const url = new URL(request.url ?? '', 'https://fake');
      const seen: Asked = {
        method: request.method ?? '',
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        accept: request.headers.accept ?? '',
        body: Buffer.concat(chunks).toString(),
      };
      asked.push(seen);
      const [status, body] = answer(seen);
      response.writeHead(status, { 'Content-Type': 'application/json' });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  };
};

const secret = (name: string, more: object = {}): object => ({
  type: 'kubernetes.io/service-account-token',
  metadata: {
    ...{ namespace: 'apps', name, uid: `uid of ${name}`, resourceVersion: '41' },
    labels: { 'kubernetes.io/legacy-token-last-used': '2026-01-02' },
    annotations: { 'kubernetes.io/service-account.name': 'builder' },
  },
  data: { token: BASE64, 'ca.crt': 'Y2E=' },
  ...more,
});

const pod = (name: string, spec: object, phase = 'Running'): object => ({
  ...{ metadata: { namespace: 'apps', name }, spec, status: { phase } },
});

const doors = async (): Promise<Doors> => {
  const api = await fake.open();
  return { apiHosts: ['cp1.example.net'], api: () => api } as unknown as Doors;
};

describe('token Secrets', () => {
  it('are listed page by page, by type', async () => {
    answerBy(({ query }) => {
      const at = Number(query['continue'] ?? 0);
      const metadata = at < 2 ? { continue: String(at + 1) } : { continue: '' };
      return [200, { metadata, items: [secret(`s${at}a`), secret(`s${at}b`)] }];
    });
    const found = await (await fake.open()).tokenSecrets();
    expect(found.map(({ name }) => name)).toEqual(['s0a', 's0b', 's1a', 's1b', 's2a', 's2b']);
    expect(found[0]).toMatchObject({
      ...{ namespace: 'apps', uid: 'uid of s0a', resourceVersion: '41' },
      ...{ serviceAccount: 'builder', lastUsed: '2026-01-02' },
    });
    expect(found[0]?.token?.reveal((bytes) => bytes.toString())).toBe(TOKEN);
    const common = { fieldSelector: 'type=kubernetes.io/service-account-token', limit: '500' };
    expect(asked.map(({ query }) => query)).toEqual([
      common,
      { ...common, continue: '1' },
      { ...common, continue: '2' },
    ]);
  });

  it('may be without token, service account and labels', async () => {
    const bare = { namespace: 'apps', name: 'bare', uid: 'u', resourceVersion: '1' };
    answerBy(() => [200, { metadata: {}, items: [secret('', { metadata: bare, data: null })] }]);
    expect(await (await fake.open()).tokenSecrets()).toEqual([
      { ...bare, serviceAccount: undefined, token: undefined },
    ]);
  });

  it('are told from others even by an apiserver that does not', async () => {
    answerBy(() => [
      200,
      { items: [secret('tls', { type: 'kubernetes.io/tls' }), secret('none', { type: undefined })] },
    ]);
    expect(await (await fake.open()).tokenSecrets()).toEqual([]);
  });

  it('may take more bytes than any other answer', async () => {
    const large = { 'ca.crt': 'x'.repeat(6 * 1024 * 1024), token: BASE64 };
    answerBy(() => [200, { items: [secret('large', { data: large })] }]);
    expect(await (await fake.open()).tokenSecrets()).toHaveLength(1);
  });

  it('are not listed for ever', async () => {
    answerBy(() => [200, { metadata: { continue: 'same' }, items: [] }]);
    expect((await failure((await fake.open()).tokenSecrets())).message).toContain('the same page again');
  });

  it('come out of nothing that is printed', async () => {
    answerBy(() => [200, { items: [secret('s')] }]);
    const found = await (await fake.open()).tokenSecrets();
    for (const text of [
      inspect(found, { depth: 9, showHidden: true }),
      JSON.stringify(found),
      String(found[0]?.token),
    ])
      expect(text).not.toMatch(/eyJ|ZXlK|c2lnb/);
  });

  it.each([
    [200, `{"items":[{"data":{"token":"${BASE64}"}`],
    [200, JSON.stringify({ items: [secret('s', { metadata: { token: BASE64 } })] })],
    [500, `a proxy echoes "${BASE64}" and ${TOKEN}`],
    [500, JSON.stringify({ message: `echoes "${BASE64}"` })],
  ])('come into no error: %i %s', async (status, body) => {
    answerBy(() => [status, body]);
    const error = await failure((await fake.open()).tokenSecrets());
    expect(error.code).toBe('kube.answer');
    expect(allOf(error)).not.toMatch(/eyJ|ZXlK|c2lnb/);
  });
});

describe('the Secrets in use', () => {
  it('are those of volumes, projected sources, environments and image pulls of pods that are not over', async () => {
    const spec = {
      imagePullSecrets: [{ name: 'pull' }],
      serviceAccountName: 'not-a-secret',
      volumes: [
        { name: 'v1', secret: { secretName: 'volume', items: [{ key: 'token', path: 'not-me' }] } },
        {
          name: 'v2',
          projected: { sources: [{ secret: { name: 'projected' } }, { configMap: { name: 'not-map' } }] },
        },
        { name: 'v3', csi: { driver: 'd', nodePublishSecretRef: { name: 'csi' } } },
      ],
      containers: [
        {
          name: 'not-c',
          env: [{ name: 'NOT_ENV', valueFrom: { secretKeyRef: { name: 'env', key: 'token' } } }],
        },
      ],
      initContainers: [
        { name: 'not-i', envFrom: [{ secretRef: { name: 'init' } }, { configMapRef: { name: 'not' } }] },
      ],
      ephemeralContainers: [
        { name: 'not-e', envFrom: [{ secretRef: { name: 'ephemeral' } }, { secretRef: { name: 'volume' } }] },
      ],
    };
    answerBy(() => [
      200,
      {
        items: [
          pod('p', spec),
          pod('q', { volumes: [{ secret: { secretName: 'pending' } }] }, 'Pending'),
          ...['Succeeded', 'Failed'].map((phase) => pod(phase, spec, phase)),
        ],
      },
    ]);
    const found = await (await fake.open()).secretsInUse();
    expect(found.every(({ namespace }) => namespace === 'apps')).toBe(true);
    expect(found.map(({ secret: name, pod: by }) => `${by} ${name}`).sort()).toEqual(
      ['csi', 'env', 'ephemeral', 'init', 'projected', 'pull', 'volume']
        .map((name) => `p ${name}`)
        .concat('q pending'),
    );
    expect(asked[0]).toMatchObject({
      path: '/api/v1/pods',
      query: { limit: '500', fieldSelector: 'status.phase!=Succeeded,status.phase!=Failed' },
    });
  });
});

describe('looking at the token Secrets of a cluster', () => {
  it('names the pods of each, in its own namespace, and holds no token', async () => {
    answerBy(({ path }) => {
      if (path === '/api/v1/secrets') return [200, { items: [secret('a'), secret('b')] }];
      const uses = { volumes: [{ secret: { secretName: 'a' } }] };
      const elsewhere = {
        metadata: { namespace: 'other', name: 'x' },
        spec: { volumes: [{ secret: { secretName: 'b' } }] },
      };
      return [200, { items: [pod('web-1', uses), pod('web-2', uses), elsewhere] }];
    });
    const found = await observeLegacyTokens(await doors(), new Map());
    expect(found.map(({ name, pods, kid }) => ({ name, pods, kid }))).toEqual([
      { name: 'a', pods: ['web-1', 'web-2'], kid: undefined },
      { name: 'b', pods: [], kid: undefined },
    ]);
    expect(Object.keys(found[0] ?? {})).not.toContain('token');
    expect(asked.map(({ path }) => path)).toEqual(['/api/v1/secrets', '/api/v1/pods']);
  });

  it.each(['secrets', 'pods'])(
    'fails when %s may not be listed, and says what right is missing',
    async (what) => {
      answerBy(({ path }) =>
        path === `/api/v1/${what}` ? [403, { message: 'nope' }] : [200, { items: [secret('a')] }],
      );
      const error = await failure(observeLegacyTokens(await doors(), new Map()));
      expect(error).toMatchObject({ code: 'kube.forbidden', host: 'cp1.example.net' });
      expect(error.hint).toContain(`list ${what} in all namespaces`);
    },
  );
});

describe('deleting a Secret', () => {
  it('is of that very object in that very version', async () => {
    answerBy(() => [200, { kind: 'Status', status: 'Success' }]);
    await (await fake.open()).deleteSecret(VERSION);
    expect(asked).toMatchObject([{ method: 'DELETE', path: '/api/v1/namespaces/apps/secrets/old' }]);
    expect(JSON.parse(asked[0]?.body ?? '')).toEqual({
      ...{ apiVersion: 'v1', kind: 'DeleteOptions' },
      preconditions: { uid: 'u-1', resourceVersion: '41' },
    });
  });

  it('is refused when it has changed since, with what to do', async () => {
    answerBy(() => [409, { message: 'the ResourceVersion in the precondition (41) does not match (42)' }]);
    const error = await failure((await fake.open()).deleteSecret(VERSION));
    expect(error).toMatchObject({ code: 'kube.conflict', host: 'cp1.example.net', exit: 1 });
    expect(error.message).toContain('/api/v1/namespaces/apps/secrets/old answered 409');
    expect(error.hint).toContain('Run again');
  });

  it('is done when it is gone already', async () => {
    answerBy(() => [404, { message: 'not found' }]);
    await expect((await fake.open()).deleteSecret(VERSION)).resolves.toBe(undefined);
  });

  it('may be forbidden, and says what right is missing', async () => {
    answerBy(() => [403, { message: 'nope' }]);
    const error = await failure((await fake.open()).deleteSecret(VERSION));
    expect(error.code).toBe('kube.forbidden');
    expect(error.hint).toContain('delete secrets');
  });

  it('has an unknown outcome when no answer comes', async () => {
    fake.handler = () => undefined;
    const error = await failure((await fake.open({ timeout: '300ms' })).deleteSecret(VERSION));
    expect(error).toMatchObject({ code: 'kube.timeout', exit: 6 });
  });
});

describe('the change that deletes a token Secret', () => {
  const change = { kind: 'delete-secret', ...VERSION, serviceAccount: 'builder', kid: 'k' } as const;
  const verify = async (): Promise<void> =>
    deleteSecret.verify(change, { doors: await doors() } as Parameters<typeof deleteSecret.verify>[1]);

  it('looks whether it is gone without reading a token', async () => {
    answerBy(() => [404, { message: 'not found' }]);
    await verify();
    expect(asked[0]?.accept).toContain('as=PartialObjectMetadata');
  });

  it('takes another one of that name for what it is', async () => {
    answerBy(() => [200, { metadata: { uid: 'u-2' } }]);
    await expect(verify()).resolves.toBe(undefined);
  });

  it('says so when a finalizer holds it back', async () => {
    answerBy(() => [200, { metadata: { uid: 'u-1' } }]);
    const error = await failure(verify());
    expect(error).toMatchObject({ code: 'verify.secret', host: 'cp1.example.net' });
    expect(error.message).toContain('apps/old');
  });
});
