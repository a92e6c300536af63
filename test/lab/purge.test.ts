import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { certroll, resultOf } from '../support/certroll.js';
import { clusterFileWith, QUICK } from './cluster-file.js';
import { kidOf, KubeClient } from './kube.js';
import { Lab } from './lab.js';
import { CLIENT_ACCOUNT, CONTROL_PLANES } from './settings.js';
import { until } from './wait.js';

const { namespace, name: account } = CLIENT_ACCOUNT;
const SECRETS = `/api/v1/namespaces/${namespace}/secrets`;
const PODS = `/api/v1/namespaces/${namespace}/pods`;
const POD = 'lab-holds-a-token';
const NAMES = ['lab-legacy-free', 'lab-legacy-mounted', 'lab-legacy-young'] as const;
const [FREE, MOUNTED, YOUNG] = NAMES;

describe('certroll run purge-sa-token-secrets', () => {
  let lab: Lab;
  let kube: KubeClient;
  const [{ address }] = CONTROL_PLANES as [(typeof CONTROL_PLANES)[number]];
  const tokens = new Map<string, string>();
  const run = (...more: readonly string[]) =>
    certroll(['run', 'purge-sa-token-secrets', '-c', lab.bastion.clusterFile, '--yes', '--json', ...more]);

  const create = async (path: string, body: object): Promise<void> => {
    const answer = await kube.asAdmin(address, path, { method: 'POST', body });
    if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${answer.body}`);
  };

  /** Which of the test's Secrets are there, by the API's own list. */
  const listed = async (): Promise<string[]> => {
    const { body } = await kube.asAdmin(address, SECRETS);
    const { items } = JSON.parse(body) as { items: { metadata: { name: string } }[] };
    return items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith('lab-legacy-'));
  };

  /** Makes a token Secret and waits until kube-controller-manager has filled it in. */
  const createToken = async (name: string): Promise<void> => {
    await create(SECRETS, {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/service-account-token',
      metadata: { name, annotations: { 'kubernetes.io/service-account.name': account } },
    });
    await until(`a token in ${name}`, 90, async () => {
      const { body } = await kube.asAdmin(address, `${SECRETS}/${name}`);
      const { data } = JSON.parse(body) as { data?: { token?: string } };
      if (data?.token === undefined) return false;
      tokens.set(name, Buffer.from(data.token, 'base64').toString());
      return true;
    });
  };

  const cleanUp = async (): Promise<void> => {
    for (const path of [`${PODS}/${POD}?gracePeriodSeconds=0`, ...NAMES.map((name) => `${SECRETS}/${name}`)])
      await kube.asAdmin(address, path, { method: 'DELETE' });
  };

  const accepted = async (name: string): Promise<number[]> =>
    Promise.all(
      CONTROL_PLANES.map(async (host) => {
        const token = tokens.get(name) ?? '';
        return (await kube.withToken(host.address, '/version', token)).status;
      }),
    );

  beforeAll(async () => {
    lab = await Lab.up();
    kube = await KubeClient.open();
    await lab.restoreFault();
    await cleanUp();
    await createToken(FREE);
    await createToken(MOUNTED);
    // Nothing schedules it in the lab; a pod that is pending counts, since it may start any moment.
    await create(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: POD },
      spec: {
        serviceAccountName: account,
        automountServiceAccountToken: false,
        containers: [
          { name: 'c', image: 'none.example.net/none', volumeMounts: [{ name: 't', mountPath: '/t' }] },
        ],
        volumes: [{ name: 't', secret: { secretName: MOUNTED } }],
      },
    });
  });
  afterAll(async () => cleanUp());

  test('has nothing to do while the keys that signed the tokens still sign', async () => {
    expect((await run('--input', 'mounted=delete')).exitCode).toBe(0);
    expect(await listed()).toEqual([FREE, MOUNTED]);
  });

  test('comes after a rotation, which keeps the old tokens accepted', async () => {
    const clusterFile = await clusterFileWith('purge', QUICK);
    const rotate = ['run', 'rotate-sa-keys', '-c', clusterFile, '--yes', '--force'];
    expect((await certroll(rotate)).exitCode).toBe(0);
    await createToken(YOUNG);
    const signing = new Set((await lab.matrix()).map(({ kid }) => kid));
    expect(signing.has(kidOf(tokens.get(YOUNG) ?? ''))).toBe(true);
    expect(signing.has(kidOf(tokens.get(FREE) ?? ''))).toBe(false);
    expect(await accepted(FREE)).toEqual([200, 200, 200]);
  });

  test('lists before it deletes, then deletes only what nothing signs for and no pod mounts', async () => {
    const dry = await run('--dry-run');
    expect(dry.exitCode).toBe(3);
    expect(await listed()).toEqual(NAMES);

    const done = await run();
    expect(done.stderr).toBe('');
    expect(done.exitCode).toBe(0);
    expect(await listed()).toEqual([MOUNTED, YOUNG]);
    // An apiserver remembers for ten seconds that it accepted a token.
    await until('the deleted token refused everywhere', 30, async () =>
      (await accepted(FREE)).every((status) => status === 401),
    );
    expect(await accepted(MOUNTED)).toEqual([200, 200, 200]);

    const { findings, journal } = resultOf(done) as unknown as {
      readonly findings: readonly { readonly text: string }[];
      readonly journal: string;
    };
    expect(findings.some(({ text }) => text.includes(MOUNTED) && text.includes(POD))).toBe(true);
    const written = await readFile(journal, 'utf8');
    expect(written).toContain(`delete the token Secret ${namespace}/${FREE}`);
    expect(written).toContain(kidOf(tokens.get(FREE) ?? ''));
    for (const token of tokens.values())
      for (const text of [dry.stdout, dry.stderr, done.stdout, done.stderr, written])
        expect(text).not.toContain(token.slice(-40));
  });

  test('has nothing to do when it is run again, and still tells of the mounted one', async () => {
    const { exitCode, stdout } = await run();
    expect(exitCode).toBe(3);
    expect(stdout).toContain(MOUNTED);
    expect(await listed()).toEqual([MOUNTED, YOUNG]);
  });

  test('deletes the mounted one when that is asked for, and nothing else', async () => {
    expect((await run('--input', 'mounted=delete')).exitCode).toBe(0);
    expect(await listed()).toEqual([YOUNG]);
    expect(await accepted(YOUNG)).toEqual([200, 200, 200]);
  });
});
