import type { SeenProcess } from './seen.js';

/** What `services` of the cluster file is to say of a process; undefined when this layout is not its. */
type LayoutRule = (process: SeenProcess) => Proposed | undefined;

export interface Proposed {
  readonly value: Readonly<Record<string, string>>;
  readonly where: string;
}

/** Paths of the control groups, of version 1 (one line per controller) and 2 (`0::/path`). */
const groupsOf = ({ cgroup }: SeenProcess): readonly string[] =>
  cgroup.split('\n').flatMap((line) => /^\d+:[^:]*:(.+)$/.exec(line)?.[1] ?? []);

/** A pod of a kubelet, by either cgroup driver: /kubepods/burstable/…, /kubepods.slice/… */
export const isInPod = (process: SeenProcess): boolean =>
  groupsOf(process).some((group) => /(^|\/)kubepods(\.slice)?(\/|$)/.test(group));

/** A pod whose manifest lies in the kubelet's folder. */
const staticPod: LayoutRule = (process) =>
  isInPod(process) && process.manifest !== undefined
    ? {
        value: { staticPod: process.manifest },
        where: "its process runs in a pod, and the kubelet's folder has this manifest",
      }
    : undefined;

/** The main process of a unit. */
const systemd: LayoutRule = (process) => {
  if (isInPod(process)) return undefined;
  const inGroup = groupsOf(process)
    .map((group) => /^\/system\.slice\/(?:.*\/)?([^/]+\.service)$/.exec(group)?.[1])
    .find((unit) => unit !== undefined);
  const unit = process.unit ?? inGroup;
  return unit === undefined
    ? undefined
    : { value: { systemd: unit }, where: 'its process belongs to that unit' };
};

/** Every layout that can be told from the outside. A command of its own cannot: nobody sees what would restart it. */
const RULES: readonly LayoutRule[] = [staticPod, systemd];

/** How a service is run, as the cluster file says it; undefined where nothing tells. */
export const layoutOf = (process: SeenProcess): Proposed | undefined =>
  RULES.map((rule) => rule(process)).find((proposed) => proposed !== undefined);
