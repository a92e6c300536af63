import { describe, expect, it } from 'vitest';
import { asWritten } from '../../../../src/hosts/static-pod/expand.js';
import { nextArguments, readManifest, type StaticPod } from '../../../../src/hosts/static-pod/manifest.js';
import { kubeadmManifest } from '../../../support/manifests.js';

const read = (source: string, program = 'kube-apiserver'): StaticPod => {
  const { pod, why } = readManifest(source, program);
  if (!pod) throw new Error(why);
  return pod;
};
const whyNot = (source: string, program = 'kube-apiserver'): string | undefined =>
  readManifest(source, program).why;
const words = (pod: StaticPod): readonly string[] | undefined => pod.words?.map(asWritten);

const pod = (container: string, more = ''): string => `apiVersion: v1
kind: Pod
metadata: {name: kube-apiserver}
spec:
  containers:
  - name: kube-apiserver
${container.replace(/^/gm, '    ')}
${more}`;

describe("kubeadm's own manifest", () => {
  it('of kube-apiserver gives its flags, mounts and network', () => {
    const found = read(kubeadmManifest('kube-apiserver'));
    expect(found).toMatchObject({
      name: 'kube-apiserver',
      uid: undefined,
      hostNetwork: true,
      graceSeconds: 30,
      restartedAt: undefined,
    });
    expect(words(found)?.slice(0, 2)).toEqual(['kube-apiserver', '--advertise-address=10.77.1.11']);
    expect(words(found)).toContain('--service-account-key-file=/etc/kubernetes/pki/sa.pub');
    expect(found.mounts).toContainEqual({
      inside: '/etc/kubernetes/pki',
      outside: '/etc/kubernetes/pki',
      isFile: false,
    });
  });

  it('of kube-controller-manager mounts its kubeconfig as one file', () => {
    const found = read(kubeadmManifest('kube-controller-manager'), 'kube-controller-manager');
    expect(found.mounts).toContainEqual({
      inside: '/etc/kubernetes/controller-manager.conf',
      outside: '/etc/kubernetes/controller-manager.conf',
      isFile: true,
    });
  });

  it('is not that of another program', () => {
    expect(whyNot(kubeadmManifest('kube-apiserver'), 'kube-controller-manager')).toBe(
      'no container of it runs kube-controller-manager',
    );
  });
});

describe('the words of a container', () => {
  it.each([
    ['flow style', 'command: [kube-apiserver, "--a=1", \'--b=2\']', ['kube-apiserver', '--a=1', '--b=2']],
    [
      'command and args',
      'command: [/usr/bin/kube-apiserver]\nargs:\n- --a=1',
      ['/usr/bin/kube-apiserver', '--a=1'],
    ],
    [
      'behind go-runner',
      'command: [/go-runner, --also-stdout=false, kube-apiserver, --a=1]',
      ['kube-apiserver', '--a=1'],
    ],
    ['args alone', 'args: [--a=1]', ['kube-apiserver', '--a=1']],
    [
      'folded and quoted',
      'command:\n- kube-apiserver\n- "--a=\\x31"\n- >-\n  --b=2\n  3',
      ['kube-apiserver', '--a=1', '--b=2 3'],
    ],
    [
      'a variable',
      'command: [kube-apiserver, "--a=$(A)"]\nenv: [{name: A, value: "1"}, {name: B, value: "$(A)"}]',
      ['kube-apiserver', '--a=1'],
    ],
    [
      'a variable of a variable',
      'command: [kube-apiserver, "--b=$(B)"]\nenv: [{name: A, value: "1"}, {name: B, value: "<$(A)>"}]',
      ['kube-apiserver', '--b=<1>'],
    ],
    ['a shell', 'command: [/bin/sh, -c, exec kube-apiserver --a=1]', undefined],
    ['nothing', 'image: x', undefined],
  ])('%s', (_name, container, expected) => {
    expect(words(read(pod(container)))).toEqual(expected);
  });

  it('may be merged and aliased', () => {
    const source = `x-base: &base {name: kube-apiserver, command: &words [kube-apiserver, --a=1]}
${pod('<<: *base\nargs: [--b=2]').replace('  - name: kube-apiserver\n', '  -\n')}`;
    expect(words(read(source))).toEqual(['kube-apiserver', '--a=1', '--b=2']);
  });

  it('are those of the first document; kubelet passes over the others', () => {
    expect(words(read(`---\n${pod('args: [--a=1]')}\n---\nkind: [broken\n`))).toEqual([
      'kube-apiserver',
      '--a=1',
    ]);
  });

  it('may have a sidecar beside them', () => {
    const sidecar = '  - {name: konnectivity, command: [proxy-server]}';
    expect(words(read(pod('command: [kube-apiserver, --a=1]', sidecar)))).toEqual([
      'kube-apiserver',
      '--a=1',
    ]);
  });
});

describe('a manifest that cannot be read', () => {
  it.each([
    ['is empty', '', /^it is empty$/],
    ['is a comment', '# nothing\n', /^it is empty|^it: /],
    ['is broken', 'a: [1\nb: 2\n', /^line 2: /],
    ['has a key twice', `${pod('args: [--a=1]')}\nkind: Pod\n`, /^line \d+: duplicate key$/],
    ['has an alias to nothing', pod('args: *none'), /none/],
    ['is no pod', 'apiVersion: v1\nkind: List\nitems: []\n', /^kind: /],
    [
      'has a number among its words',
      pod('args: [--a=1, 5]'),
      /^spec\.containers\.0\.args\.1: .*expected string/,
    ],
    ['has a value that is a number', pod('env: [{name: A, value: 5}]'), /env\.0\.value: /],
    ['has no name', pod('args: [--a=1]').replace('{name: kube-apiserver}', '{}'), /^metadata\.name: /],
    [
      'runs the program twice',
      pod('command: [kube-apiserver]', '  - {name: other, command: [kube-apiserver]}'),
      /^several/,
    ],
    [
      'runs another program',
      pod('command: [etcd]').replace('- name: kube-apiserver', '- name: x'),
      /^no container/,
    ],
  ])('%s', (_name, source, why) => {
    expect(whyNot(source)).toMatch(why);
  });

  it('tells nothing of what is in it', () => {
    const secret = 'hunter2-password';
    for (const source of [
      pod(`env: [{name: A, value: {x: ${secret}}}]`),
      `a: "${secret}\n b: [${secret}\n`,
      pod(`args: [--a=1]\nenv: [{name: ${secret}`),
    ]) {
      expect(whyNot(source)).toBeDefined();
      expect(whyNot(source)).not.toContain('hunter2');
    }
  });
});

describe('volumes', () => {
  const mounted = (mount: string, volume: string): StaticPod['mounts'] =>
    read(
      pod(
        `args: [--a=1]\nenv: [{name: A, value: x}, {name: F, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]\nvolumeMounts: [${mount}]`,
        `  volumes: [${volume}]`,
      ),
    ).mounts;
  it.each([
    ['a folder', '{name: v, mountPath: /pki/}', '{name: v, hostPath: {path: /srv/pki/}}', '/srv/pki'],
    [
      'a part of one',
      '{name: v, mountPath: /pki, subPath: a/b}',
      '{name: v, hostPath: {path: /srv}}',
      '/srv/a/b',
    ],
    [
      'a part by a variable',
      '{name: v, mountPath: /pki, subPathExpr: $(A)}',
      '{name: v, hostPath: {path: /srv}}',
      '/srv/x',
    ],
    [
      'a part that nobody knows',
      '{name: v, mountPath: /pki, subPathExpr: $(F)}',
      '{name: v, hostPath: {path: /srv}}',
      undefined,
    ],
    ['no volume of the host', '{name: v, mountPath: /pki}', '{name: v, emptyDir: {}}', undefined],
    ['no volume at all', '{name: v, mountPath: /pki}', '{name: w, hostPath: {path: /srv}}', undefined],
  ])('%s', (_name, mount, volume, outside) => {
    expect(mounted(mount, volume)).toMatchObject([{ inside: '/pki', outside }]);
  });
});

describe('what the next start would use', () => {
  const source = pod(
    'command: [kube-apiserver, --advertise-address=$(IP), --a=$(B), --c=$(OTHER_SERVICE_HOST)]\nenv: [{name: IP, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}, {name: B, value: b}]',
  );
  it('takes what is not in the manifest from the running process', () => {
    const running = ['kube-apiserver', '--c=10.96.0.1', '--advertise-address=10.0.0.1'];
    expect(nextArguments(read(source), running)).toEqual({
      argv: ['kube-apiserver', '--advertise-address=10.0.0.1', '--a=b', '--c=10.96.0.1'],
    });
  });

  it('leaves what nobody defines as it is written', () => {
    expect(nextArguments(read(source), ['--advertise-address=10.0.0.1']).argv?.at(-1)).toBe(
      '--c=$(OTHER_SERVICE_HOST)',
    );
  });

  it.each([[['kube-apiserver']], [['--advertise-address=1', '--advertise-address=2']]])(
    'cannot be told from %j',
    (running) => {
      expect(nextArguments(read(source), running).why).toMatch(/\$\(IP\)/);
    },
  );
});

describe('two manifests', () => {
  it('say the same when only comments, order, style and the note of a restart differ', () => {
    const one = read(
      'kind: Pod\napiVersion: v1\nmetadata: {name: a}\nspec: {containers: [{name: kube-apiserver}]}\n',
    );
    const other = read(`# a comment
apiVersion: v1
kind: Pod
metadata:
  annotations: {certroll.dev/restarted-at: "2026-01-01T00:00:00.000Z"}
  name: "a"
spec:
  containers:
  - name: kube-apiserver # here
`);
    expect(other.restartedAt).toBe('2026-01-01T00:00:00.000Z');
    expect(other.content).toBe(one.content);
  });

  it('differ by anything else', () => {
    const source = kubeadmManifest('kube-apiserver');
    const { content } = read(source);
    expect(read(source.replace('v1.34.4', 'v1.34.5')).content).not.toBe(content);
    expect(read(source.replace('tier: control-plane', 'tier: other')).content).not.toBe(content);
  });
});
