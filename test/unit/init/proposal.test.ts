import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { clusterFileSchema, type ClusterFile } from '../../../src/cluster/schema.js';
import { differencesOf } from '../../../src/init/differences.js';
import { isInPod, layoutOf } from '../../../src/init/layout.js';
import { propose } from '../../../src/init/proposal.js';
import { renderClusterFile } from '../../../src/init/render.js';
import type { Survey } from '../../../src/init/seen.js';
import { expandHosts } from '../../../src/hosts/expression.js';
import { FLAGS, host, process, survey } from './seen.js';

const fileOf = (seen: Survey): ClusterFile =>
  clusterFileSchema.parse(parse(renderClusterFile(propose(seen, { ssh: {} }), ['head'])));
const gapsOf = (seen: Survey): readonly string[] =>
  propose(seen, { ssh: {} }).gaps.map(({ path, text }) => `${path}: ${text}`);
const compared = (seen: Survey) => {
  const file = fileOf(seen);
  return { ...file, hosts: { controlPlanes: expandHosts(file.controlPlanes.hosts) } };
};

describe('how a service is run', () => {
  const POD = '11:memory:/kubepods/burstable/pod1/abc\n1:name=systemd:/kubepods/burstable/pod1/abc\n';
  const SLICE = '0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/cri-x.scope\n';
  const manifest = '/etc/kubernetes/manifests/kube-apiserver.yaml';

  it.each([
    ['a unit', { unit: 'a.service', cgroup: '' }, { systemd: 'a.service' }],
    [
      'a unit by its control group',
      { unit: undefined, cgroup: '0::/system.slice/b.service\n' },
      { systemd: 'b.service' },
    ],
    [
      'a unit in a slice of its own',
      { unit: undefined, cgroup: '1:name=systemd:/system.slice/system-x.slice/x@1.service' },
      { systemd: 'x@1.service' },
    ],
    ['a static pod, cgroupfs', { unit: undefined, cgroup: POD, manifest }, { staticPod: manifest }],
    ['a static pod, systemd driver', { unit: undefined, cgroup: SLICE, manifest }, { staticPod: manifest }],
    ['a pod without a manifest', { unit: undefined, cgroup: SLICE }, undefined],
    ['a pod inside of a unit', { unit: 'containerd.service', cgroup: SLICE }, undefined],
    [
      'a login session',
      { unit: undefined, cgroup: '0::/user.slice/user-0.slice/session-1.scope' },
      undefined,
    ],
    ['nothing to go by', { unit: undefined, cgroup: '' }, undefined],
    [
      'a unit named after pods',
      { unit: undefined, cgroup: '0::/system.slice/kubepods-tool.service' },
      { systemd: 'kubepods-tool.service' },
    ],
  ])('%s', (_what, more, value) => {
    expect(layoutOf(process([], more))?.value).toEqual(value);
  });

  it('a folder that only begins like that of pods is none', () => {
    expect(isInPod(process([], { cgroup: '0::/kubepodsx/abc' }))).toBe(false);
  });
});

describe('a cluster file', () => {
  it('is what was seen, loads, and leaves no gap where all was seen', () => {
    const seen = survey();
    expect(gapsOf(seen)).toEqual([]);
    expect(fileOf(seen)).toMatchObject({
      name: 'prod',
      controlPlanes: { hosts: 'cp[1-2].example.net' },
      etcd: { endpoints: ['https://10.0.0.1:2379', 'https://10.0.0.2:2379'], cert: './client.crt' },
      api: { kubeconfig: './kubeconfig', port: 6443, serverName: 'kubernetes.default.svc' },
      serviceAccounts: { mode: 'per-host', bundle: '/pki/bundle.pem' },
      services: { apiserver: { systemd: 'kube-apiserver.service' } },
      issuer: { type: 'none' },
    });
  });

  it('differs in nothing from what it was made of', () => {
    const seen = survey();
    expect(differencesOf(compared(seen), seen)).toEqual([]);
  });

  it.each<readonly [string, Partial<Survey>, RegExp]>([
    [
      'a host that could not be reached',
      { unreached: [{ name: 'cp3', where: 'lease', why: 'refused' }] },
      /controlPlanes\.hosts: cp3 \(lease\).*refused/,
    ],
    ['no files for etcd', { etcdFiles: undefined }, /etcd\.cert: no client files/],
    ['no kubeconfig', { kubeconfig: undefined }, /api\.kubeconfig: no kubeconfig/],
    [
      'no name that all carry',
      { hosts: [host(1), host(2, { servedNames: ['else'] })] },
      /api\.serverName: no name/,
    ],
    [
      'a certificate that was not seen',
      { hosts: [host(1), host(2, { servedNames: undefined })] },
      /api\.serverName: .*cp2/,
    ],
    [
      'a key that was not read',
      { hosts: [host(1), host(2, { signingKid: undefined })] },
      /serviceAccounts\.mode/,
    ],
    [
      'keys that two of three share',
      { hosts: [host(1), host(2), host(3, { signingKid: 'kid1' })] },
      /some control planes share/,
    ],
    [
      'two layouts',
      { hosts: [host(1), host(2, { apiserver: process(FLAGS, { unit: 'x.service' }) })] },
      /services\.apiserver/,
    ],
    [
      'no etcd',
      { hosts: [host(1, { apiserver: process(['kube-apiserver']) })], etcdFiles: undefined },
      /etcd\.endpoints: no --etcd-servers/,
    ],
    [
      'an issuer that nobody names',
      { hosts: [host(1, { signingIssuer: 'CN=sa' })] },
      /issuer\.type: .*CN=sa/,
    ],
    ['several locks', { hosts: [host(1, { lockNames: ['a', 'b'] })] }, /lock\.name: several/],
    [
      'an etcd that only its host reaches',
      { hosts: [host(1, { apiserver: process([...FLAGS, '--etcd-servers=https://127.0.0.1:2379']) })] },
      /only its own host reaches/,
    ],
    ['a note', { notes: ['the API did not tell'] }, /the API did not tell/],
  ])('with %s says so, and still has the right form', (_what, more, gap) => {
    const seen = survey(more);
    expect(gapsOf(seen).join('\n')).toMatch(gap);
    expect(fileOf(seen).name).toBe('prod');
  });

  it('takes what etcd tells its clients where the flags name the loopback address', () => {
    const local = process(['kube-apiserver', '--etcd-servers=https://127.0.0.1:2379']);
    const hosts = [1, 2].map((each) =>
      host(each, {
        apiserver: local,
        etcdClientUrls: [`https://10.0.0.${each}:2379`, 'https://127.0.0.1:2379'],
      }),
    );
    expect(fileOf(survey({ hosts })).etcd.endpoints).toEqual([
      'https://10.0.0.1:2379',
      'https://10.0.0.2:2379',
    ]);
  });

  it('says a shared key, ports that differ, no controller-manager, and the lock of others', () => {
    const port = process([...FLAGS, '--secure-port=8443']);
    const hosts = [
      host(1, { signingKid: 'k', controllerManager: undefined, lockNames: ['kube-apiserver-restart'] }),
      host(2, { signingKid: 'k', controllerManager: undefined, apiserver: port }),
    ];
    const seen = survey({ hosts });
    expect(fileOf(seen)).toMatchObject({
      serviceAccounts: { mode: 'shared' },
      api: { ports: { 'cp1.example.net': 6443, 'cp2.example.net': 8443 } },
      services: { controllerManager: false },
      lock: { name: 'kube-apiserver-restart' },
    });
    expect(differencesOf(compared(seen), seen)).toEqual([]);
  });

  it('reads back as it was proposed, whatever hosts and the API call things', () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.constant('a\n# b: [c\r\n- d'));
    fc.assert(
      fc.property(text, text, (where, why) => {
        const seen = survey({
          hosts: [host(1, { where, signingIssuer: why })],
          unreached: [{ name: where, where, why }],
          kubeconfig: { value: './kubeconfig', where },
        });
        const proposal = propose(seen, { ssh: {} });
        const value = parse(renderClusterFile(proposal, [where])) as Record<string, unknown>;
        const { settings } = proposal;
        expect(value['name']).toBe('prod');
        expect(new Set(Object.keys(value))).toEqual(new Set(settings.map(({ path }) => path.split('.')[0])));
      }),
    );
  });
});

describe('differences', () => {
  const file = compared(survey());
  const paths = (seen: Survey, changed: Partial<typeof file> = {}): readonly string[] =>
    differencesOf({ ...file, ...changed }, seen).map(({ path }) => path);

  it.each<readonly [string, Survey, readonly string[]]>([
    ['a control plane more', survey({ hosts: [host(1), host(2), host(3)] }), ['controlPlanes.hosts']],
    [
      'one without an apiserver',
      survey({ hosts: [host(1), host(2, { apiserver: undefined })] }),
      ['controlPlanes.hosts'],
    ],
    [
      'another unit',
      survey({ hosts: [host(1), host(2, { apiserver: process(FLAGS, { unit: 'x.service' }) })] }),
      ['services.apiserver'],
    ],
    [
      'a shared key',
      survey({ hosts: [host(1, { signingKid: 'k' }), host(2, { signingKid: 'k' })] }),
      ['serviceAccounts.mode'],
    ],
    [
      'another port',
      survey({ hosts: [host(1), host(2, { apiserver: process([...FLAGS, '--secure-port=1']) })] }),
      ['api.port'],
    ],
    [
      'a name that is gone',
      survey({ hosts: [host(1), host(2, { servedNames: ['x'] })] }),
      ['api.serverName'],
    ],
    ['another lock', survey({ hosts: [host(1, { lockNames: ['x'] }), host(2)] }), ['lock.name']],
    [
      'no bundle any more',
      survey({ hosts: [host(1), host(2, { apiserver: process(FLAGS.slice(0, 4)) })] }),
      ['serviceAccounts.bundle'],
    ],
  ])('%s', (_what, seen, expected) => {
    expect(paths(seen)).toEqual(expected);
  });

  it('are none where hosts and members only go by another name, or could not be seen', () => {
    expect(paths(survey(), { hosts: { controlPlanes: ['cp1', '10.0.0.2'] } })).toEqual([]);
    const etcd = { ...file.etcd, endpoints: ['https://cp2:2379', 'https://cp1.example.net:2379/'] };
    expect(paths(survey(), { etcd })).toEqual([]);
    expect(paths(survey({ hosts: [] }))).toEqual([]);
  });
});
