import { describe, expect, it } from 'vitest';
import type { Mount } from '../../../../src/hosts/host.js';
import { hostArguments, hostPath, mountOfHostPath } from '../../../../src/hosts/static-pod/volumes.js';

const mount = (inside: string, outside: string | undefined, isFile = false): Mount => ({
  inside,
  outside,
  isFile,
});
const mounts = [
  mount('/etc/kubernetes/pki', '/etc/kubernetes/pki'),
  mount('/etc/kubernetes/pki/etcd', '/srv/etcd-pki'),
  mount('/etc/kubernetes/admin.conf', '/root/.kube/config', true),
  mount('/tmp', undefined),
];

describe('a path of a container', () => {
  it.each([
    ['/etc/kubernetes/pki/sa.key', '/etc/kubernetes/pki/sa.key'],
    ['/etc/kubernetes/pki/etcd/ca.crt', '/srv/etcd-pki/ca.crt'],
    ['/etc/kubernetes/pki/etcd', '/srv/etcd-pki'],
    ['/etc/kubernetes/pki/etcd-old/ca.crt', '/etc/kubernetes/pki/etcd-old/ca.crt'],
    ['/etc/kubernetes/pki/../pki//etcd/./ca.crt', '/srv/etcd-pki/ca.crt'],
    ['/etc/kubernetes/admin.conf', '/root/.kube/config'],
    ['/etc/kubernetes/pki/../other', undefined],
    ['/etc/kubernetes/pkis/sa.key', undefined],
    ['/tmp/x', undefined],
    ['/', undefined],
  ])('%s lies on the host at %s', (inside, outside) => {
    expect(hostPath(mounts, inside)).toBe(outside);
  });

  it('is found the other way round, too', () => {
    expect(mountOfHostPath(mounts, '/srv/etcd-pki/ca.crt')?.inside).toBe('/etc/kubernetes/pki/etcd');
    expect(mountOfHostPath(mounts, '/srv/etcd-pki-2/ca.crt')).toBeUndefined();
  });
});

describe('the arguments of a process in a container', () => {
  it('get the paths of the host; what is in the container alone is told', () => {
    const argv = [
      '/usr/local/bin/kube-apiserver',
      '--client-ca-file=/etc/kubernetes/pki//ca.crt',
      '--etcd-cafile=/etc/kubernetes/pki/etcd/ca.crt',
      '--etcd-certfile',
      '/etc/kubernetes/pki/etcd/client.crt',
      '--etcd-prefix=/registry',
      '--encryption-provider-config=/opt/encryption.yaml',
      '--feature-gates=A=/etc/kubernetes/pki/etcd',
      '--v=2',
    ];
    expect(hostArguments(mounts, argv)).toEqual({
      argv: [
        '/usr/local/bin/kube-apiserver',
        '--client-ca-file=/etc/kubernetes/pki//ca.crt',
        '--etcd-cafile=/srv/etcd-pki/ca.crt',
        '--etcd-certfile',
        '/srv/etcd-pki/client.crt',
        '--etcd-prefix=/registry',
        '--encryption-provider-config=/opt/encryption.yaml',
        '--feature-gates=A=/etc/kubernetes/pki/etcd',
        '--v=2',
      ],
      foreign: ['/registry', '/opt/encryption.yaml'],
    });
    expect(hostArguments(mounts, [])).toEqual({ argv: [], foreign: [] });
  });
});
