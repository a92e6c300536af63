/** The container of a pod that a process runs in. */
export interface PodContainer {
  /** kubelet's id for the pod, with dashes. That of a static pod is a hash of its manifest: 32 hex digits, no dashes. */
  readonly podUid: string;
  readonly id: string;
}

/**
 * A pod's folder and its container's: `pod<UID>/<ID>` with kubelet's cgroupfs driver, `…-pod<UID>.slice/<RUNTIME>-<ID>.scope`
 * with systemd's (a dash of the UID is an underscore there), `…-pod<UID>.slice:cri-containerd:<ID>` where kubelet has the one
 * and containerd the other. cri-o can have a further folder behind it.
 */
const CONTAINER =
  /[/-]pod([0-9a-f]{32}|[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12})(?:\.slice)?[/:](?:cri-containerd[-:]|crio-|docker-|libpod-)?([0-9a-f]{64})(?:\.scope)?(?=\/|$)/g;

/**
 * Reads /proc/PID/cgroup, of either version of cgroups; undefined for a process that is in no pod. The innermost pod counts:
 * a cluster inside of a container has the folders of the outer one before its own.
 */
export const podContainer = (cgroup: string): PodContainer | undefined => {
  for (const line of cgroup.split('\n')) {
    // HIERARCHY:CONTROLLERS:PATH; of version 2 0::PATH.
    const path = /^\d+:[^:]*:(\/.*)$/.exec(line)?.[1] ?? '';
    if (!path.includes('kubepods')) continue;
    const [, uid, id] = [...path.matchAll(CONTAINER)].at(-1) ?? [];
    if (uid !== undefined && id !== undefined) return { podUid: uid.replaceAll('_', '-'), id };
  }
  return undefined;
};

/** Whether such an id is that of a pod from a file: kubelet makes it by hashing what the file says (MD5). */
export const isHashedUid = (uid: string): boolean => /^[0-9a-f]{32}$/.test(uid);
