import { describe, expect, it } from 'vitest';
import type { ManifestFact, Mount, RunningService, ServiceFact } from '../../../src/hosts/host.js';
import { requireClear, requireMounted, requireShared, sharedFolders } from '../../../src/run/pod-files.js';

const mount = (inside: string, outside: string | undefined, isFile = false): Mount => ({
  inside,
  outside,
  isFile,
});
const manifest: ManifestFact = {
  path: '/m/kube-apiserver.yaml',
  mounts: [mount('/pki', '/srv/pki'), mount('/etc/ssl', '/etc/ssl'), mount('/conf', '/srv/conf', true)],
};
const running: RunningService = {
  running: true,
  pid: 7,
  startTicks: 1,
  startedAtMs: 1,
  argv: [],
  user: 'root',
  manifest,
  pod: { uid: 'u', containerId: 'c', userId: 0, groupId: 0, groups: [], foreign: ['/opt/ca.crt'] },
};
const unit: ServiceFact = { ...running, pod: undefined, manifest: undefined } as unknown as ServiceFact;
const refusal = (code: string, message: RegExp) =>
  expect.objectContaining({
    code,
    exit: 4,
    host: 'cp1',
    message: expect.stringMatching(message) as string,
  }) as Error;

describe('a pod whose files are to be read on its host', () => {
  it('must be the only one, with a manifest that can be read', () => {
    expect(() => requireClear('cp1', 'kube-apiserver', running)).not.toThrow();
    expect(() => requireClear('cp1', 'kube-apiserver', { running: false, detail: 'gone' })).not.toThrow();
    expect(() =>
      requireClear('cp1', 'kube-apiserver', { running: false, isUnclear: true, detail: '2 run' }),
    ).toThrow(refusal('host.unclear', /^cp1: 2 run$/));
    expect(() =>
      requireClear('cp1', 'kube-apiserver', {
        ...running,
        manifest: { ...manifest, problem: 'M is broken' },
      }),
    ).toThrow(refusal('host.manifest', /^cp1: M is broken, so nobody can tell/));
  });

  it('must not have them in its container alone', () => {
    expect(() => requireMounted('cp1', 'kube-apiserver', running, ['/srv/pki/ca.crt'])).not.toThrow();
    expect(() => requireMounted('cp1', 'kube-apiserver', unit, ['/opt/ca.crt'])).not.toThrow();
    expect(() =>
      requireMounted('cp1', 'kube-apiserver', running, ['/srv/pki/ca.crt', '/opt/ca.crt']),
    ).toThrow(
      refusal(
        'host.foreign-file',
        /name \/opt\/ca\.crt, which is a file of its container: no hostPath volume of \/m\/kube-apiserver\.yaml/,
      ),
    );
  });

  it('is asked about the folders that hold them; a file that is mounted as such may have been replaced since', () => {
    expect(sharedFolders(running, ['/srv/pki/a', '/srv/pki/b/c', '/srv/conf', '/elsewhere'])).toEqual([
      { pid: 7, inside: '/pki', outside: '/srv/pki', files: ['/srv/pki/a', '/srv/pki/b/c'] },
    ]);
    expect(sharedFolders(unit, ['/srv/pki/a'])).toEqual([]);
  });

  it('must see the folders as its host does, and links must lead to what it sees alike', () => {
    const check = (path: string, leadsTo?: string) => () =>
      requireShared('cp1', 'kube-apiserver', running, [{ path, leadsTo }]);
    expect(() => requireShared('cp1', 'kube-apiserver', running, [])).not.toThrow();
    expect(check('/srv/pki/a', '/etc/ssl/a')).not.toThrow();
    expect(check('/srv/pki')).toThrow(refusal('host.other-folder', /sees another folder than \/srv\/pki/));
    expect(check('/srv/pki/a', '/srv/other/a')).toThrow(
      refusal('host.foreign-file', /\/srv\/pki\/a is a link to \/srv\/other\/a, which/),
    );
    // Under another path in the container: an absolute link leads elsewhere there.
    expect(check('/srv/pki/a', '/srv/pki/b')).toThrow(refusal('host.foreign-file', /./));
  });
});
