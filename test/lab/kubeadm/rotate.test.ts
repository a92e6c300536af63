import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { certroll, type Finished } from '../../support/certroll.js';
import { Load, type LoadCounts } from '../load.js';
import { storedKeys, storedRotation } from '../registry.js';
import { KubeadmLab } from './lab.js';
import { MANIFESTS } from './settings.js';
import { processes, Watch } from './stage.js';

const figures = ({ seconds, direct, balanced, calico }: LoadCounts): string =>
  `${Math.round(seconds)} s, ${direct.requests} requests to the apiservers' own addresses: ${direct.unauthorized} of 401, ` +
  `${direct.unreachable} while one was away; ${balanced.requests} through haproxy: ` +
  `${balanced.failed + balanced.unauthorized} failed; ${calico.requests} of curl through haproxy: ` +
  `${calico.failed + calico.unauthorized} failed`;

describe('certroll on a cluster that kubeadm made', () => {
  let lab: KubeadmLab;
  const { clusterFile } = KubeadmLab.attach().bastion;

  let stateDir: string;

  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'certroll-kubeadm-'));
    lab = await KubeadmLab.up();
    await lab.restorePristine();
  });

  const kids = async (): Promise<ReadonlySet<string>> => new Set((await lab.matrix()).map(({ kid }) => kid));

  /** A run under load; no client may see a refusal or, through the load balancer, any failure at all. */
  const underLoad = async (what: string, args: readonly string[]): Promise<Finished> => {
    const load = await Load.start({ maxSeconds: 800, tickMs: 100, flavour: 'kubeadm' });
    const watch = new Watch(lab);
    const finished = await certroll([...args, '-c', clusterFile, '--yes'], { stateDir });
    const seen = await load.stop();
    await watch.end();
    process.stdout.write(`${what}: ${figures(seen)}\n`);
    expect({ exitCode: finished.exitCode, end: finished.stderr.split('\n').slice(-8) }).toMatchObject({
      exitCode: 0,
    });
    expect(seen.mishaps.filter(({ client }) => client !== 'mint' && client !== 'direct')).toEqual([]);
    expect(seen.direct.unauthorized).toBe(0);
    expect(seen.balanced.failed + seen.balanced.unauthorized).toBe(0);
    expect(seen.calico.failed + seen.calico.unauthorized).toBe(0);
    // The apiservers were really away, one at a time.
    expect(seen.direct.unreachable).toBeGreaterThan(0);
    expect(watch).toMatchObject({ together: 0 });
    expect(watch.alone).toBeGreaterThan(0);
    return finished;
  };

  test('sees what kubeadm has made, and that nothing is to do', async () => {
    const status = await certroll(['status', '-c', clusterFile]);
    expect(status.exitCode).toBe(0);
    const run = await certroll(['run', 'rotate-sa-keys', '-c', clusterFile, '--yes']);
    expect(run).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Nothing to do.') as string });
  });

  test('restarts the apiservers one at a time, by another pod each, and no client notices', async () => {
    const before = await processes(lab);
    const manifests = await manifestsOf(lab);
    await underLoad('restart-apiservers', ['run', 'restart-apiservers']);
    const after = await processes(lab);
    for (const [host, { containerId }] of after) expect(containerId).not.toBe(before.get(host)?.containerId);
    // Of the manifests nothing but the note has changed, and nothing else lies beside them.
    const now = await manifestsOf(lab);
    for (const [host, text] of now) {
      const note = / {4}certroll\.dev\/restarted-at: "[^"]*Z"\n/;
      expect(text).toMatch(note);
      expect(text.replace(note, '')).toBe(manifests.get(host));
      const { stdout } = await lab.exec(host, ['ls', '-A', MANIFESTS]);
      expect(stdout.split('\n').filter(Boolean)).toEqual(
        ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'].map((name) => `${name}.yaml`),
      );
    }
  });

  test('rotates the one key of all, and no client sees a refusal', async () => {
    const before = await kids();
    const managers = await processes(lab, 'kube-controller-manager');
    expect(before.size).toBe(1);
    await underLoad('rotate-sa-keys', ['run', 'rotate-sa-keys', '--force']);
    const after = await kids();
    expect(after.size).toBe(1);
    expect([...after]).not.toEqual([...before]);
    expect((await lab.matrix()).map(({ status }) => status)).toEqual(Array(9).fill(200));
    for (const { name } of lab.controlPlanes)
      expect(new Set(await lab.jwks(name))).toEqual(new Set([...before, ...after]));
    for (const [host, { containerId }] of await processes(lab, 'kube-controller-manager'))
      expect(containerId).not.toBe(managers.get(host)?.containerId);
    expect(await storedRotation(lab)).toMatchObject({ state: 'done' });
    const states = new Map((await storedKeys(lab)).map(({ kid, state }) => [kid, state]));
    expect([...after].map((kid) => states.get(kid))).toEqual(['promoted']);
    expect([...before].map((kid) => states.get(kid))).toEqual(['soaking']);
    await lab.waitForHealth();
  });

  test('goes back to the key that the rotation found', async () => {
    const before = await kids();
    await underLoad('rollback', ['rollback', 'last']);
    const after = await kids();
    expect(after.size).toBe(1);
    expect([...after]).not.toEqual([...before]);
    expect((await lab.matrix()).map(({ status }) => status)).toEqual(Array(9).fill(200));
    await lab.waitForHealth();
  });

  test('changes nothing in a dry run', async () => {
    const before = [await manifestsOf(lab), await processes(lab), await kids()];
    const { exitCode } = await certroll(['plan', 'restart-apiservers', '-c', clusterFile]);
    expect(exitCode).toBe(3);
    expect([await manifestsOf(lab), await processes(lab), await kids()]).toEqual(before);
  });
});

const manifestsOf = async (lab: KubeadmLab): Promise<ReadonlyMap<string, string>> => {
  const texts = await Promise.all(
    lab.controlPlanes.map(async ({ name }) => {
      const { stdout } = await lab.exec(name, ['cat', `${MANIFESTS}/kube-apiserver.yaml`]);
      return [name, stdout] as const;
    }),
  );
  return new Map(texts);
};
