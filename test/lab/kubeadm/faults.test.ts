import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Load } from '../load.js';
import { storedRotation } from '../registry.js';
import type { HostSpec } from '../topology.js';
import { until } from '../wait.js';
import { KubeadmLab } from './lab.js';
import { KUBEADM, MANIFESTS } from './settings.js';
import { Bastion, nth, processes, progress, Watch, type Ended } from './stage.js';

const [cp1, cp2, cp3] = KUBEADM.controlPlanes as readonly [HostSpec, HostSpec, HostSpec];
const MANIFEST = `${MANIFESTS}/kube-apiserver.yaml`;
const RESTART = ['restart-apiservers'];
const ROTATE = ['rotate-sa-keys'];

/** Milliseconds after which a kubelet that runs has looked at its folder again (fileCheckFrequency: 20 s). */
const FILE_CHECK_MS = 25_000;

const withoutNote = (text: string): string => text.replace(/ {4}certroll\.dev\/restarted-at: "[^"]*"\n/, '');

describe('a restart of static pods that is befallen by a fault', () => {
  let lab: KubeadmLab;
  let bastion: Bastion;

  beforeAll(async () => {
    lab = await KubeadmLab.up();
    await lab.restorePristine();
    bastion = await Bastion.set();
  });

  const sh = async (host: HostSpec, script: string): Promise<string> => {
    const { exitCode, stdout, stderr } = await lab.exec(host.name, ['sh', '-ec', script]);
    if (exitCode !== 0) throw new Error(`on ${host.name}: ${stderr}`);
    return stdout;
  };
  const signalKubelet = (host: HostSpec, signal: 'STOP' | 'CONT') =>
    sh(host, `systemctl kill --kill-who=main -s ${signal} kubelet.service`);

  // Whatever a test has left: kubelets that run, and a cluster that is well.
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') await lab.restorePristine();
    for (const host of lab.controlPlanes) {
      await signalKubelet(host, 'CONT').catch(() => undefined);
      await lab.startKubelet(host.name);
    }
    await lab.waitForHealth();
  });

  const manifest = (host: HostSpec): Promise<string> => sh(host, `cat ${MANIFEST}`);

  /** Runs again until it is done; a run that comes in the middle of what is going on may have to be run once more. */
  const complete = async (args: readonly string[]): Promise<Ended> => {
    await lab.waitForHealth();
    const ended = await bastion.run(args);
    expect({ exitCode: ended.exitCode, end: ended.stderr.split('\n').slice(-8) }).toMatchObject({
      exitCode: 0,
    });
    return ended;
  };

  describe('before anything is touched', () => {
    test.each([
      [
        'stopped in an orderly way',
        (host: HostSpec) => lab.stopKubelet(host.name),
        /: kubelet does not run there$/m,
      ],
      [
        'stopped by SIGSTOP',
        (host: HostSpec) => signalKubelet(host, 'STOP'),
        /kubelet \(pid \d+\) is stopped \(SIGSTOP\)/,
      ],
    ])('a kubelet that is %s is seen', async (_what, stop, message) => {
      const before = await processes(lab);
      const text = await manifest(cp3);
      await stop(cp3);
      for (const args of [RESTART, [...ROTATE, '--force']]) {
        const ended = await bastion.run(args);
        expect(ended).toMatchObject({ exitCode: 4, code: 'preflight.cannot-start' });
        expect(ended.stderr).toContain(cp3.fqdn);
        expect(ended.stderr).toMatch(message);
      }
      expect(await processes(lab)).toEqual(before);
      expect(await manifest(cp3)).toBe(text);
      expect(await sh(cp3, 'find /etc/kubernetes -name "*.certroll-*"')).toBe('');
    });
  });

  test('a kubelet that is stopped after the run has begun: refused at its host, the ones before it are done', async () => {
    const before = await processes(lab);
    const ended = await bastion.run(RESTART, {
      at: progress(cp1, 'manifest edited'),
      act: () => signalKubelet(cp2, 'STOP'),
    });
    expect(ended).toMatchObject({ exitCode: 4, code: 'restart.refused' });
    const after = await processes(lab);
    expect(after.get(cp1.name)).not.toEqual(before.get(cp1.name));
    expect(after.get(cp2.name)).toEqual(before.get(cp2.name));
    expect(after.get(cp3.name)).toEqual(before.get(cp3.name));
  });

  test('a kubelet that stops in the moment of the edit: the edit is put back, and nothing comes of it later', async () => {
    const before = await processes(lab);
    const text = await manifest(cp1);
    // Between the last look at kubelet and the rename there is the staged file, for some milliseconds.
    const trap = sh(
      cp1,
      `bash -c 'pid=$(systemctl show -P MainPID kubelet.service); until compgen -G "${MANIFESTS}/.kube-apiserver*" >/dev/null; do :; done; kill -STOP $pid'`,
    );
    const ended = await bastion.run(RESTART);
    await trap;
    expect(ended).toMatchObject({ exitCode: 6, code: 'restart.not-taken-up' });
    expect(ended.stderr).toContain(`kubelet did not take up ${MANIFEST} within 60 s; the old kube-apiserver`);
    expect(ended.events.some(progress(cp1, 'kubelet has not taken up the manifest yet'))).toBe(true);
    expect(await manifest(cp1)).toBe(text);
    expect(await processes(lab)).toEqual(before);

    await signalKubelet(cp1, 'CONT');
    await lab.waitForHealth();
    await sleep(FILE_CHECK_MS);
    expect(await processes(lab)).toEqual(before);
    await complete(RESTART);
    for (const [host, process] of await processes(lab)) expect(process).not.toEqual(before.get(host));
  });

  test('a manifest that somebody edits meanwhile: the run stops, and what he wrote stays', async () => {
    const before = await manifest(cp3);
    const ended = await bastion.run(RESTART, {
      at: progress(cp1, 'manifest edited'),
      act: () =>
        sh(
          cp3,
          `sed 's/^  labels:$/&\\n    theirs: "1"/' ${MANIFEST} >/etc/kubernetes/theirs && mv /etc/kubernetes/theirs ${MANIFEST}`,
        ),
    });
    expect(ended).toMatchObject({ exitCode: 1, code: 'host.changed' });
    expect(ended.stderr).toContain(`${cp3.fqdn}: something else changed`);
    const theirs = before.replace(/^ {2}labels:\n/m, '$&    theirs: "1"\n');
    expect(await manifest(cp3)).toBe(theirs);
    await complete(RESTART);
    const after = await manifest(cp3);
    expect(after).not.toBe(theirs);
    expect(withoutNote(after)).toBe(withoutNote(theirs));
  });

  test('a pod that does not come up again: the last good key is put back, and the pod restarted with it', async () => {
    const kids = async () => new Set((await lab.matrix()).map(({ kid }) => kid));
    const before = await kids();
    const client = '/etc/kubernetes/pki/apiserver-etcd-client.crt';
    const ended = await bastion.run(
      [...ROTATE, '--force'],
      {
        // The second edit of that manifest: the first loads the published keys, this one is to sign with the new one.
        at: nth(2, progress(cp1, 'manifest edited')),
        act: () => sh(cp1, `mv ${client} ${client}.away`),
      },
      // From here on it could start; with which key is up to certroll.
      {
        at: progress(cp1, 'putting the last good files back'),
        act: () => sh(cp1, `mv ${client}.away ${client}`),
      },
    );
    expect(ended).toMatchObject({ exitCode: 1, code: 'restart.restored' });
    expect(ended.stderr).toContain('The last good files were put back (/etc/kubernetes/pki/sa.key)');
    expect(await lab.ready(cp1.name)).toBe(true);
    expect(await kids()).toEqual(before);
    // The key waits again where it waited, and the next run goes on with it.
    const staged = 'openssl pkey -pubout -in /etc/kubernetes/pki/sa.key.certroll-next';
    expect(await sh(cp1, staged)).toBe(await sh(cp2, staged));
    await complete(ROTATE);
    const after = await kids();
    expect(after.size).toBe(1);
    expect([...after].every((kid) => !before.has(kid))).toBe(true);
  });

  test('kill -9 of certroll in the middle of restarts: it is run again, no client sees a refusal, no two are away at once', async () => {
    const load = await Load.start({ maxSeconds: 1200, tickMs: 200, flavour: 'kubeadm' });
    const watch = new Watch(lab);
    const first = (await storedRotation(lab))?.id;
    const moments = [
      progress(cp1, 'manifest edited'),
      progress(cp2, 'old container'),
      progress(cp3, 'new container started'),
      progress(cp1, 'ready 1 of'),
      progress(cp2, 'manifest edited'),
    ];
    let killed = 0;
    for (const at of moments) {
      const isBegun = (await storedRotation(lab))?.id !== first;
      const ended = await bastion.run(isBegun ? ROTATE : [...ROTATE, '--force'], {
        at,
        act: (child) => {
          child.kill('SIGKILL');
          return Promise.resolve();
        },
      });
      expect(ended.signal).toBe('SIGKILL');
      killed += 1;
      // The locks of a dead run end with its lease.
      await until('every apiserver is ready', 120, async () => {
        const ready = await Promise.all(lab.controlPlanes.map(({ name }) => lab.ready(name)));
        return ready.every(Boolean);
      });
    }
    await complete(ROTATE);
    const seen = await load.stop();
    await watch.end();
    process.stdout.write(
      `killed ${killed} times: ${seen.direct.requests} requests, ${seen.direct.unauthorized} of 401; ` +
        `${seen.balanced.requests + seen.calico.requests} through haproxy, ` +
        `${seen.balanced.failed + seen.balanced.unauthorized + seen.calico.failed + seen.calico.unauthorized} failed; ` +
        `two away at once ${watch.together} times, one ${watch.alone} times\n`,
    );
    expect(seen.direct.unauthorized).toBe(0);
    expect(seen.balanced.failed + seen.balanced.unauthorized).toBe(0);
    expect(seen.calico.failed + seen.calico.unauthorized).toBe(0);
    expect(watch).toMatchObject({ together: 0 });
    expect(watch.alone).toBeGreaterThan(0);
    expect((await lab.matrix()).map(({ status }) => status)).toEqual(Array(9).fill(200));
    expect(await storedRotation(lab)).toMatchObject({ state: 'done' });
    expect(killed).toBe(moments.length);
  });
});
