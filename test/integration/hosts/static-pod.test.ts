import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pause, realTimers, type poll } from '../../../src/core/poll.js';
import type { ServiceFact, StaticPodService } from '../../../src/hosts/host.js';
import { RemoteHost } from '../../../src/hosts/remote-host.js';
import { serviceKind } from '../../../src/hosts/services/index.js';
import type { RestartContext } from '../../../src/hosts/services/kind.js';
import { failure } from '../../support/failure.js';
import { LocalTransport } from '../../support/local-transport.js';
import { kubeadmManifest } from '../../support/manifests.js';
import { canMakePods, StandInNode, type StandInPod } from '../../support/static-pods.js';

const ARGV = ['kube-apiserver', '--service-account-signing-key-file=/etc/kubernetes/pki/sa.key'];

// Needs root and cgroups of version 1; the lab does all of it with a real kubelet.
describe.skipIf(!canMakePods()).each(['dash', 'bash'] as const)(
  'a static pod on a host whose sh is %s',
  (shell) => {
    let transport: LocalTransport;
    let host: RemoteHost;
    let node: StandInNode;
    let folder: string;
    let spec: StaticPodService;
    const closing: (() => void)[] = [];

    beforeEach(async () => {
      transport = new LocalTransport({ shell });
      host = new RemoteHost('cp1', transport, { sudo: false });
      node = await StandInNode.start(transport.dir);
      transport.prefix = node.prefix;
      folder = join(transport.dir, 'manifests');
      mkdirSync(folder);
      spec = { kind: 'static-pod', manifest: join(folder, 'kube-apiserver.yaml'), program: 'kube-apiserver' };
      writeFileSync(spec.manifest, kubeadmManifest('kube-apiserver'), { mode: 0o600 });
    });
    afterEach(async () => {
      for (const close of closing.splice(0)) close();
      await node.close();
      await host.close();
    });

    const look = async (): Promise<ServiceFact> => {
      const fact = (await host.readFacts({ services: { it: spec } })).services.get('it');
      if (!fact) throw new Error('nothing was said');
      return fact;
    };

    describe('is found', () => {
      it('by its name and its cgroup, with its pod, container, arguments and rights', async () => {
        const pod = await node.pod(ARGV);
        expect(await look()).toMatchObject({
          running: true,
          pid: pod.pid,
          pod: { uid: pod.uid, containerId: pod.containerId, userId: 0, groupId: 0 },
          nextArgv: expect.arrayContaining([
            '--service-account-key-file=/etc/kubernetes/pki/sa.pub',
          ]) as unknown,
          manifest: { path: spec.manifest, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown },
        });
      });

      it('and not what is called alike, is of another pod, or only speaks of it', async () => {
        await node.pod(['kube-apiserver-proxy', 'x']);
        await node.pod(['bash', 'kube-apiserver']);
        // An ordinary pod, as of a control plane that is hosted here for somebody else.
        await node.pod(ARGV, '0f8fad5b-d9cb-469f-a165-70867728950e');
        const fact = await look();
        expect(fact).toMatchObject({
          running: false,
          detail: `no kube-apiserver runs in a static pod (${spec.manifest})`,
        });
        expect(fact).not.toHaveProperty('isUnclear');
      });

      it('neither way when two could be it', async () => {
        const [one, other] = [await node.pod(ARGV), await node.pod(ARGV)];
        const fact = await look();
        expect(fact).toMatchObject({ running: false, isUnclear: true });
        expect(JSON.stringify(fact)).toContain(`pid ${one.pid} in container ${one.containerId.slice(0, 12)}`);
        expect(JSON.stringify(fact)).toContain(
          `pid ${other.pid} in container ${other.containerId.slice(0, 12)}`,
        );
      });

      it.each([
        ['there is none', (path: string) => renameSync(path, `${path}.old`), /does not exist$/],
        [
          'it is a folder',
          (path: string) => {
            renameSync(path, `${path}.old`);
            mkdirSync(path);
          },
          /is no regular file$/,
        ],
        [
          'it is too large',
          (path: string) => writeFileSync(path, Buffer.alloc(1024 * 1024 + 1, '#')),
          /has more than 1048576 bytes$/,
        ],
        [
          'it is not UTF-8',
          (path: string) => writeFileSync(path, Buffer.from([0x61, 0xff])),
          /is not UTF-8$/,
        ],
        [
          'it is another pod',
          (path: string) => writeFileSync(path, kubeadmManifest('kube-controller-manager')),
          /no container of it runs kube-apiserver$/,
        ],
      ])('without a manifest when %s', async (_name, damage, problem) => {
        await node.pod(ARGV);
        damage(spec.manifest);
        expect(await look()).toMatchObject({
          running: true,
          manifest: { problem: expect.stringMatching(problem) as unknown },
        });
      });
    });

    describe('shares a folder with its host', () => {
      const ask = async (inside: string, outside: string, files: readonly string[]) => {
        const { pid } = await node.pod(ARGV);
        return (await host.readFacts({ sharedFolders: [{ pid, inside, outside, files }] })).notShared;
      };

      it('or not: another folder, a link that leads out, a link that does not', async () => {
        const [one, other] = ['one', 'other'].map((name) => join(transport.dir, name)) as [string, string];
        for (const each of [one, other]) mkdirSync(each);
        writeFileSync(join(one, 'a'), '');
        writeFileSync(join(other, 'b'), '');
        symlinkSync('a', join(one, 'inner'));
        symlinkSync('../other/b', join(one, 'outer'));
        const files = ['a', 'inner', 'outer', 'none'].map((name) => join(one, name));
        expect(await ask(one, one, files)).toEqual([{ path: join(one, 'outer'), leadsTo: join(other, 'b') }]);
        expect(await ask(other, one, [join(one, 'a')])).toEqual([{ path: one, leadsTo: undefined }]);
        // A file that is mounted as such may well have been replaced since.
        expect(await ask(join(other, 'b'), join(one, 'a'), [join(one, 'a')])).toEqual([]);
      });
    });

    describe('needs a kubelet', () => {
      const obstacles = async (): Promise<readonly string[]> =>
        serviceKind(spec).obstacles(spec, await look(), host);
      const withConfig = async (
        settings: string,
        flags: readonly string[] = [],
      ): Promise<readonly string[]> => {
        writeFileSync(join(transport.dir, 'config.yaml'), settings);
        await node.kubelet([`--config=${join(transport.dir, 'config.yaml')}`, ...flags]);
        return obstacles();
      };
      beforeEach(async () => {
        await node.pod(ARGV);
      });

      it('that runs', async () => {
        expect(await obstacles()).toEqual(['kubelet does not run there']);
      });

      it('that is well and watches the folder, by its configuration', async () => {
        const port = await node.healthz();
        expect(
          await withConfig(`kind: x\nhealthzPort: ${port} # here\nstaticPodPath: "${folder}/"\n`),
        ).toEqual([]);
      });

      it('whose later files count more than earlier ones', async () => {
        const more = join(transport.dir, 'more');
        mkdirSync(more);
        writeFileSync(join(more, '10.conf'), `{"staticPodPath": "manifests", "healthzPort": 1}`);
        expect(await withConfig('staticPodPath: /nowhere\n', [`--config-dir=${more}`])).toEqual([
          expect.stringContaining('watches') as string,
          expect.stringContaining('does not answer that it is well') as string,
        ]);
        expect(readdirSync(more)).toEqual(['10.conf']);
      });

      it.each([
        ['no folder', 'healthzPort: 0\n', /watches no folder/],
        [
          'another folder',
          'healthzPort: 0\nstaticPodPath: /etc\n',
          /watches \/etc, which is not where .*kube-apiserver\.yaml lies$/,
        ],
      ])('that watches this folder, not %s', async (_name, config, problem) => {
        expect(await withConfig(config)).toEqual([expect.stringMatching(problem)]);
      });

      it.each([500, 404])('that is well, and does not answer %i', async (status) => {
        const port = await node.healthz(status);
        expect(await withConfig(`healthzPort: ${port}\nstaticPodPath: ${folder}\n`)).toEqual([
          expect.stringMatching(/does not answer that it is well: /),
        ]);
      });

      it('that is not stopped', async () => {
        const kubelet = await node.kubelet([`--pod-manifest-path=${folder}`, '--healthz-port=0']);
        kubelet.kill('SIGSTOP');
        await expect.poll(obstacles).toEqual([`kubelet (pid ${kubelet.pid}) is stopped (SIGSTOP)`]);
        kubelet.kill('SIGCONT');
        await expect.poll(obstacles).toEqual([]);
      });

      it('that can be told apart from others', async () => {
        await node.kubelet([`--pod-manifest-path=${folder}`]);
        await node.kubelet([`--pod-manifest-path=${folder}`]);
        expect(await obstacles()).toEqual([expect.stringMatching(/^two kubelets run there/)]);
      });

      it('whose configuration can be read', async () => {
        await node.kubelet(['--config=/nowhere/config.yaml']);
        expect(await obstacles()).toEqual([
          expect.stringMatching(/configuration \/nowhere\/config\.yaml cannot be read$/),
        ]);
      });

      it('that has taken up the last restart', async () => {
        await node.kubelet([`--pod-manifest-path=${folder}`, '--healthz-port=0']);
        const note = (at: string): string =>
          readFileSync(spec.manifest, 'utf8').replace(
            'annotations:\n',
            `annotations:\n    certroll.dev/restarted-at: "${at}"\n`,
          );
        writeFileSync(spec.manifest, note(new Date(Date.now() + 60_000).toISOString()));
        expect(await obstacles()).toEqual([
          expect.stringMatching(/^kubelet has not taken up .* in which a restart was asked for/),
        ]);
      });
    });

    describe('is restarted', () => {
      /** So many looks instead of so much time: nothing here waits for luck. */
      const looks =
        (count: number): typeof poll =>
        async (each, { signal }) => {
          for (let left = count; left > 0; left -= 1) {
            const found = await each();
            if (found !== undefined) return found;
            await pause(20, signal);
          }
          return undefined;
        };
      const inVain = { timers: { ...realTimers, poll: looks(4) } };
      const steps: string[] = [];
      let sent: boolean;
      const context = (seen: readonly ServiceFact[], more: Partial<RestartContext> = {}): RestartContext => ({
        host,
        service: 'it',
        seen,
        look,
        beforeSending: () => {
          sent = true;
          return Promise.resolve();
        },
        isReady: undefined,
        readyTimeoutMs: 3000,
        now: () => new Date(),
        timers: { ...realTimers, poll: looks(200) },
        signal: new AbortController().signal,
        progress: (text) => steps.push(text),
        ...more,
      });
      /** kubelet's part of it: another pod for each content of the manifest. */
      const onEdit = (act: () => Promise<void>): void => {
        const watcher = watch(folder, (_event, name) => {
          if (name !== 'kube-apiserver.yaml') return;
          watcher.close();
          void act();
        });
        closing.push(() => watcher.close());
      };
      let old: StandInPod;
      beforeEach(async () => {
        steps.length = 0;
        sent = false;
        old = await node.pod(ARGV);
        await node.kubelet([`--pod-manifest-path=${folder}`, '--healthz-port=0']);
        // Without a time to end in, as far as certroll knows, a test need not wait for it.
        writeFileSync(
          spec.manifest,
          kubeadmManifest('kube-apiserver').replace(
            'hostNetwork: true',
            'hostNetwork: true\n  terminationGracePeriodSeconds: 0',
          ),
        );
      });
      const restart = async (more: Partial<RestartContext> = {}): Promise<void> =>
        serviceKind(spec).restart(spec, context([await look()], more));

      it('by a note in its manifest, until another pod runs; nothing else lies in the folder, mode and owner stay', async () => {
        const before = readFileSync(spec.manifest, 'utf8');
        const mode = statSync(spec.manifest).mode;
        onEdit(async () => {
          await node.pod(ARGV);
          await old.end();
        });
        await restart();
        expect(await look()).toMatchObject({ running: true });
        expect((await look()) as { pid: number }).not.toMatchObject({ pid: old.pid });
        const after = readFileSync(spec.manifest, 'utf8');
        expect(after.replace(/ {4}certroll\.dev\/restarted-at: "[^"]*"\n/, '')).toBe(before);
        expect(after).not.toBe(before);
        expect(statSync(spec.manifest).mode).toBe(mode);
        expect(readdirSync(folder)).toEqual(['kube-apiserver.yaml']);
        expect(steps[0]).toBe('manifest edited; kubelet is to replace the pod');
        expect(steps.at(-1)).toBe('new container started');
      });

      it('and a new container of the same pod, such as a crash makes, is no proof of it', async () => {
        onEdit(async () => {
          await old.end();
          await node.pod(ARGV, old.uid);
        });
        const error = await failure(restart(inVain));
        expect(error).toMatchObject({ code: 'restart.not-taken-up', exit: 6 });
      });

      it('not at all when kubelet does not take it up: the edit is put back, the old one runs', async () => {
        const before = readFileSync(spec.manifest, 'utf8');
        const error = await failure(restart(inVain));
        expect(error).toMatchObject({ code: 'restart.not-taken-up', exit: 6, host: 'cp1' });
        expect(error.message).toContain(`still runs. ${spec.manifest} was put back`);
        expect(error.message).toContain(`pid ${old.pid}`);
        expect(readFileSync(spec.manifest, 'utf8')).toBe(before);
        expect(readdirSync(folder)).toEqual(['kube-apiserver.yaml']);
        expect(await look()).toMatchObject({ pid: old.pid });
        expect(steps).toContain('kubelet has not taken up the manifest yet');
      });

      it('nor is what somebody wrote meanwhile overwritten by putting it back', async () => {
        onEdit(() => {
          writeFileSync(spec.manifest, `${readFileSync(spec.manifest, 'utf8')}# mine\n`);
          return Promise.resolve();
        });
        const error = await failure(restart(inVain));
        expect(error.message).toContain('could not be put back');
        expect(readFileSync(spec.manifest, 'utf8')).toMatch(/# mine\n$/);
      });

      it('nor what somebody wrote between the look and the edit', async () => {
        const mine = `${kubeadmManifest('kube-apiserver')}# mine\n`;
        const error = await failure(
          restart({
            beforeSending: () => {
              writeFileSync(spec.manifest, mine);
              return Promise.resolve();
            },
          }),
        );
        expect(error).toMatchObject({ code: 'host.changed' });
        expect(readFileSync(spec.manifest, 'utf8')).toBe(mine);
      });

      it('not when it could not be seen to hold the lock, nor when there are two kubelets', async () => {
        const before = readFileSync(spec.manifest, 'utf8');
        const lost = new Error('lock lost');
        await expect(restart({ beforeSending: () => Promise.reject(lost) })).rejects.toBe(lost);
        await node.kubelet([`--pod-manifest-path=${folder}`]);
        sent = false;
        expect(await failure(restart())).toMatchObject({ code: 'restart.refused', exit: 4 });
        expect(sent).toBe(false);
        expect(readFileSync(spec.manifest, 'utf8')).toBe(before);
      });

      it('and says what it sees: an old one that ends, and none after it', async () => {
        onEdit(async () => old.end());
        const error = await failure(restart({ ...inVain, isReady: () => Promise.resolve(false) }));
        expect(error).toMatchObject({ code: 'restart.not-running', exit: 1 });
        expect(steps).toContain('old container ended; waiting for the new one');
      });

      it('and leaves an old one alone that is told to end and does not', async () => {
        const error = await failure(restart({ ...inVain, isReady: () => Promise.resolve(false) }));
        expect(error).toMatchObject({ code: 'restart.terminating', exit: 6 });
        expect(readFileSync(spec.manifest, 'utf8')).toContain('certroll.dev/restarted-at');
      });

      it('also when none runs, as after a restart that failed; what ran before it is no proof either', async () => {
        const seen = await look();
        await old.end();
        const failed = await node.pod(ARGV);
        const second = await look();
        await failed.end();
        onEdit(async () => {
          await node.pod(ARGV);
        });
        await serviceKind(spec).restart(spec, context([seen, second]));
        expect(await look()).toMatchObject({ running: true });
      });
    });
  },
);
