import type { ServiceFact, StaticPodService } from '../host.js';
import { withRestartNote } from './edit.js';
import { readManifest } from './manifest.js';

/** Milliseconds by which a process may seem to be older than the note that caused it: clocks are set, and drift. */
const CLOCK_MS = 15_000;

/** Whether a restart that certroll has asked for has not come yet: the process is older than the note in its manifest. */
export const isOutstanding = (fact: ServiceFact): boolean =>
  fact.running && Date.parse(fact.manifest?.restartedAt ?? '') - fact.startedAtMs > CLOCK_MS;

/** Why kubelet would not replace the pod after an edit of its manifest, or why there is none to edit. Pure. */
export const podObstacles = (spec: StaticPodService, fact: ServiceFact): readonly string[] => {
  const { manifest } = fact;
  if (manifest?.text === undefined || manifest.problem !== undefined)
    return [manifest?.problem ?? `${spec.manifest} was not read`];
  if (!fact.running && fact.isUnclear) return [fact.detail];
  const { pod, why } = readManifest(manifest.text, spec.program);
  if (!pod) return [`${spec.manifest} cannot be used: ${why}`];
  // An edit would be an update of the same pod then, and no reason for kubelet to start its containers anew.
  if (pod.uid !== undefined)
    return [
      `${spec.manifest} sets metadata.uid, so kubelet would not replace the pod after an edit; remove it`,
    ];
  if (isOutstanding(fact)) {
    return [
      `kubelet has not taken up ${spec.manifest}, in which a restart was asked for at ${pod.restartedAt ?? ''}: the ${spec.program} that runs is older`,
    ];
  }
  const edited = withRestartNote(manifest.text, '2000-01-01T00:00:00.000Z');
  return edited.text === undefined ? [`${spec.manifest}: ${edited.why}`] : [];
};
