import { CertrollError, EXIT } from '../core/errors.js';
import type { HostFacts, RunningService, ServiceFact, SharedFolder } from '../hosts/host.js';
import { isSeenAlike, mountOfHostPath } from '../hosts/static-pod/volumes.js';

const refuse = (host: string, code: string, text: string, hint: string): CertrollError =>
  new CertrollError(`${host}: ${text}`, { code, exit: EXIT.refused, host, hint });

/**
 * Throws when a service in a pod cannot be judged by what its host shows: two processes could be it (`host.unclear`), or its
 * manifest cannot be read (`host.manifest`). Nothing is ever picked blindly.
 */
export const requireClear = (host: string, service: string, fact: ServiceFact): void => {
  if (!fact.running && fact.isUnclear) {
    throw refuse(
      host,
      'host.unclear',
      fact.detail,
      `One is taking the place of the other, or two manifests start a ${service}. Wait until one is gone, or take one away; then run again.`,
    );
  }
  if (!fact.running || fact.manifest?.problem === undefined) return;
  throw refuse(
    host,
    'host.manifest',
    `${fact.manifest.problem}, so nobody can tell where the files of the running ${service} lie on the host`,
    'See services of the cluster file, or mend the manifest; then run again.',
  );
};

/** Throws `host.foreign-file` when one of these files, by a flag of the service, lies in its container alone. */
export const requireMounted = (
  host: string,
  service: string,
  fact: ServiceFact,
  paths: readonly string[],
): void => {
  const foreign = fact.running ? (fact.pod?.foreign ?? []) : [];
  const path = paths.find((each) => foreign.includes(each));
  if (path === undefined || !fact.running) return;
  throw refuse(
    host,
    'host.foreign-file',
    `the flags of ${service} name ${path}, which is a file of its container: no hostPath volume of ${fact.manifest?.path ?? 'its manifest'} holds it`,
    'A file of that name on the host is another one. Mount the file from the host, or name one that is; then run again.',
  );
};

/** The folders that a pod's process must see as the host does, for these files of the host to be what it reads. Pure. */
export const sharedFolders = (fact: ServiceFact, paths: readonly string[]): readonly SharedFolder[] => {
  if (!fact.running || !fact.manifest || !fact.pod) return [];
  const folders = new Map<string, SharedFolder>();
  for (const path of paths) {
    const mount = mountOfHostPath(fact.manifest.mounts, path);
    // A mounted file keeps what it was when the container was made: its namesake may well be another one by now.
    if (mount?.outside === undefined || mount.isFile) continue;
    const { inside, outside } = mount;
    const files = [...(folders.get(outside)?.files ?? []), path];
    folders.set(outside, { pid: fact.pid, inside, outside, files });
  }
  return [...folders.values()];
};

/** Throws `host.other-folder` or `host.foreign-file` when the process does not see those folders and files as the host does. */
export const requireShared = (
  host: string,
  service: string,
  fact: RunningService,
  notShared: HostFacts['notShared'],
): void => {
  const mounts = fact.manifest?.mounts ?? [];
  for (const { path, leadsTo } of notShared) {
    if (leadsTo === undefined) {
      throw refuse(
        host,
        'host.other-folder',
        `the running ${service} sees another folder than ${path}: it was replaced after the container was made, or the volumes of ${fact.manifest?.path ?? 'its manifest'} were edited and kubelet has not taken that up`,
        'What it reads cannot be told from the host. Have kubelet make the pod anew (move the manifest away and back), then run again.',
      );
    }
    if (isSeenAlike(mounts, leadsTo)) continue;
    throw refuse(
      host,
      'host.foreign-file',
      `${path} is a link to ${leadsTo}, which the running ${service} does not see as the host does`,
      'Put the file where its folder is mounted, or mount what it leads to under the same path; then run again.',
    );
  }
};
