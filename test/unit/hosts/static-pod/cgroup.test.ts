import { describe, expect, it } from 'vitest';
import { isHashedUid, podContainer } from '../../../../src/hosts/static-pod/cgroup.js';

const HASH = '0123456789abcdef0123456789abcdef';
const UUID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const UNDERSCORED = UUID.replaceAll('-', '_');
const ID = 'a'.repeat(63) + '7';

describe('the container that a process runs in', () => {
  it.each([
    ['cgroup v1, cgroupfs', `12:pids:/kubepods/burstable/pod${HASH}/${ID}`, HASH],
    ['cgroup v1, named hierarchy', `1:name=systemd:/kubepods/besteffort/pod${UUID}/${ID}`, UUID],
    ['cgroup v2, cgroupfs, guaranteed', `0::/kubepods/pod${HASH}/${ID}`, HASH],
    [
      'cgroup v2, systemd, containerd',
      `0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${UNDERSCORED}.slice/cri-containerd-${ID}.scope`,
      UUID,
    ],
    [
      'cgroup v2, systemd, guaranteed, cri-o',
      `0::/kubepods.slice/kubepods-pod${HASH}.slice/crio-${ID}.scope`,
      HASH,
    ],
    [
      'cri-o with a folder of its own',
      `0::/kubepods.slice/kubepods-pod${HASH}.slice/crio-${ID}.scope/container`,
      HASH,
    ],
    [
      'docker',
      `4:memory:/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${HASH}.slice/docker-${ID}.scope`,
      HASH,
    ],
    [
      'two drivers that do not agree',
      `0::/system.slice/containerd.service/kubepods-burstable-pod${HASH}.slice:cri-containerd:${ID}`,
      HASH,
    ],
    [
      'a cgroup root of its own',
      `0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod${HASH}.slice/cri-containerd-${ID}.scope`,
      HASH,
    ],
    ['seen from another namespace', `0::/../../machine.slice/kubepods/burstable/pod${HASH}/${ID}`, HASH],
  ])('%s', (_name, line, podUid) => {
    expect(podContainer(`11:cpu:/user.slice\n${line}\n3:freezer:/\n`)).toEqual({ podUid, id: ID });
  });

  it('is the innermost one, where a cluster runs inside of a container', () => {
    const inner = `/kubepods/burstable/pod${HASH}/${ID}`;
    const outer = `/kubepods/pod${UUID}/${'b'.repeat(64)}`;
    expect(podContainer(`0::${outer}${inner}`)).toEqual({ podUid: HASH, id: ID });
  });

  it.each([
    ['a unit', '0::/system.slice/kube-apiserver.service'],
    ['a container without a pod', `0::/docker/${ID}`],
    ['a pod without a container', `0::/kubepods/burstable/pod${HASH}`],
    ['an id that is cut short', `0::/kubepods/burstable/pod${HASH}/${ID.slice(1)}`],
    ['an id that is too long', `0::/kubepods/burstable/pod${HASH}/${ID}f`],
    ['the conmon of cri-o', `0::/kubepods.slice/kubepods-pod${HASH}.slice/crio-conmon-${ID}.scope`],
    ['a folder that is only called so', `0::/my/pod${HASH}/${ID}`],
    ['nothing', ''],
    ['no path', `kubepods/pod${HASH}/${ID}`],
  ])('is not there for %s', (_name, text) => {
    expect(podContainer(text)).toBeUndefined();
  });

  it('is of a static pod by its hash', () => {
    expect([HASH, UUID, UUID.replaceAll('-', ''), ''].map(isHashedUid)).toEqual([true, false, true, false]);
  });
});
