import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import type { ManifestFact, RunningService, ServiceFact, StaticPodService } from '../host.js';
import { decode, decodeBytes, type Clocks } from '../said.js';
import type { SaidOfService } from '../services/kind.js';
import { runningFact } from '../services/process.js';
import { isHashedUid, podContainer } from './cgroup.js';
import { nextArguments, readManifest, type StaticPod } from './manifest.js';
import { hostArguments } from './volumes.js';

/** Bytes of the largest manifest that is read; kubeadm's have four thousand. */
export const MOST_BYTES = 1024 * 1024;

const WHY_NOT_READ: Readonly<Record<string, string>> = {
  absent: 'does not exist',
  no_file: 'is no regular file',
  too_large: `has more than ${MOST_BYTES} bytes`,
  unreadable: 'cannot be read',
};

interface Manifest {
  readonly fact: ManifestFact;
  readonly pod: StaticPod | undefined;
}

const manifestOf = (
  lines: readonly SaidOfService[],
  { manifest: path, program }: StaticPodService,
): Manifest => {
  const [how = 'unreadable', body] = lines.find(({ kind }) => kind === 'manifest')?.words ?? [];
  const broken = (problem: string, more: Partial<ManifestFact> = {}): Manifest => ({
    fact: { path, mounts: [], problem: `${path} ${problem}`, ...more },
    pod: undefined,
  });
  if (how !== 'read') return broken(WHY_NOT_READ[how] ?? 'cannot be read');
  const bytes = decodeBytes(body);
  const text = bytes.toString();
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (!Buffer.from(text).equals(bytes)) return broken('is not UTF-8', { sha256 });
  const { pod, why } = readManifest(text, program);
  if (!pod) return broken(`cannot be used: ${why}`, { text, sha256 });
  const { content, mounts, restartedAt } = pod;
  const noted = restartedAt === undefined ? {} : { restartedAt };
  return { fact: { path, text, sha256, content, mounts, ...noted }, pod };
};

/** One process that is called like the program, and the container that it runs in. */
interface Candidate {
  readonly process: RunningService;
  readonly podUid: string;
  readonly containerId: string;
  readonly isOnHostNetwork: boolean;
  readonly ids: Pick<NonNullable<RunningService['pod']>, 'userId' | 'groupId' | 'groups'>;
}

const idsOf = (text: string): Candidate['ids'] => {
  const [userId = NaN, groupId = NaN, ...groups] = text.trim().split(/\s+/).map(Number);
  return { userId, groupId, groups };
};

/** The processes that run the program in some pod. */
const candidatesIn = (
  lines: readonly SaidOfService[],
  clocks: Clocks,
  program: string,
): readonly Candidate[] =>
  lines.flatMap(({ kind, words }) => {
    if (kind !== 'running') return [];
    const process = runningFact(words, clocks);
    const pod = lines.find((line) => line.kind === 'pod' && line.words[0] === words[0])?.words ?? [];
    const container = podContainer(decode(pod[1]));
    if (!container || posix.basename(process.argv[0] ?? '') !== program) return [];
    return [
      {
        process,
        podUid: container.podUid,
        containerId: container.id,
        isOnHostNetwork: pod[2] === 'host',
        ids: idsOf(decode(pod[3])),
      },
    ];
  });

/**
 * Those that a manifest can have made. Other pods can run the program too, a control plane hosted for somebody else say: kubelet
 * names pods from files by a hash, and a pod on the host's network (as is one whose manifest cannot be read, for all that is
 * known) is on the network of this host, not of a machine inside of it.
 */
const isOf = ({ podUid, isOnHostNetwork }: Candidate, pod: StaticPod | undefined): boolean =>
  (pod?.uid === undefined ? isHashedUid(podUid) : podUid === pod.uid) &&
  (pod?.hostNetwork === false || isOnHostNetwork);

const withArguments = (
  { process, podUid, containerId, ids }: Candidate,
  { fact: manifest, pod }: Manifest,
): RunningService => {
  const now = hostArguments(manifest.mounts, process.argv);
  const next = pod && nextArguments(pod, process.argv);
  const then = next?.argv && hostArguments(manifest.mounts, next.argv);
  const foreign = [...new Set([...now.foreign, ...(then?.foreign ?? [])])];
  const problem = next?.why === undefined ? undefined : `${manifest.path} cannot be used: ${next.why}`;
  return {
    ...process,
    argv: now.argv,
    ...(then && { nextArgv: then.argv }),
    pod: { uid: podUid, containerId, ...ids, foreign },
    manifest: problem === undefined ? manifest : { ...manifest, problem },
  };
};

/** What a static pod's lines tell: the one process of it, or why there is not exactly one. Pure. */
export const podFact = (
  lines: readonly SaidOfService[],
  clocks: Clocks,
  spec: StaticPodService,
): ServiceFact => {
  const manifest = manifestOf(lines, spec);
  const { fact, pod } = manifest;
  const found = candidatesIn(lines, clocks, spec.program).filter((candidate) => isOf(candidate, pod));
  const [only, second] = found;
  if (!only) {
    const detail = fact.problem ?? `no ${spec.program} runs in a static pod (${spec.manifest})`;
    return { running: false, detail, manifest: fact };
  }
  if (!second) return withArguments(only, manifest);
  const each = found.map(
    ({ process, containerId }) => `pid ${process.pid} in container ${containerId.slice(0, 12)}`,
  );
  return {
    running: false,
    isUnclear: true,
    detail: `${found.length} static pods run a ${spec.program} (${each.join(', ')})`,
    manifest: fact,
  };
};
