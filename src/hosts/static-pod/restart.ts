import { createHash } from 'node:crypto';
import { CertrollError, EXIT, messageOf } from '../../core/errors.js';
import type { PodFact, RunningService, ServiceFact, StaticPodService } from '../host.js';
import type { RestartContext } from '../services/kind.js';
import { withRestartNote } from './edit.js';
import { kubeletObstacles } from './kubelet.js';
import { readManifest } from './manifest.js';
import { podObstacles } from './obstacles.js';

/** A manifest before and after its edit, as texts. */
interface Edit {
  readonly before: string;
  readonly after: string;
  readonly sha256: string;
  /** Milliseconds that kubelet may give the old containers to end. */
  readonly graceMs: number;
}

const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');

const refuse = ({ host, service }: RestartContext, reason: string): CertrollError =>
  new CertrollError(`${host.name}: ${service} was not restarted: ${reason}`, {
    code: 'restart.refused',
    exit: EXIT.refused,
    host: host.name,
    hint: `Nothing of its manifest was edited, and what ran before still runs. Mend it, then run again.`,
  });

/** The manifest with the note in it, once everything that would keep kubelet from taking it up has been looked for. */
const prepare = async (spec: StaticPodService, fact: ServiceFact, context: RestartContext): Promise<Edit> => {
  const inManifest = podObstacles(spec, fact);
  const [reason] = inManifest.length > 0 ? inManifest : await kubeletObstacles(context.host, spec.manifest);
  if (reason !== undefined) throw refuse(context, reason);
  const { text = '', sha256 = '' } = fact.manifest ?? {};
  const after = withRestartNote(text, context.now().toISOString());
  const { pod } = readManifest(text, spec.program);
  if (after.text === undefined || !pod) throw refuse(context, after.why ?? 'its manifest cannot be read');
  return { before: text, after: after.text, sha256, graceMs: pod.graceSeconds * 1000 };
};

type PodService = RunningService & { readonly pod: PodFact };

const isInPod = (fact: ServiceFact): fact is PodService => fact.running && fact.pod !== undefined;

/**
 * Whether that is the process of another pod than any that was seen: another pod, another container, and a later start. A pod
 * that crashes gets a new container each time and stays the same pod, so a new container alone proves nothing.
 */
const isReplacement = (fact: ServiceFact, seen: readonly PodService[]): boolean =>
  isInPod(fact) &&
  seen.every(
    ({ pod, startedAtMs }) =>
      pod.uid !== fact.pod.uid && pod.containerId !== fact.pod.containerId && startedAtMs < fact.startedAtMs,
  );

type Stage = 'not-taken-up' | 'terminating' | 'both' | 'gone';

const STAGES: Readonly<Record<Stage, string>> = {
  'not-taken-up': 'kubelet has not taken up the manifest yet',
  terminating: 'old container terminating',
  both: 'new container started, old one terminating',
  gone: 'old container ended; waiting for the new one',
};

const stageOf = async (fact: ServiceFact, context: RestartContext): Promise<Stage> => {
  if (!fact.running) return fact.isUnclear ? 'both' : 'gone';
  // kubelet has told it to end when it says that it is not ready; who cannot be asked may be either.
  return (await context.isReady?.()) === false ? 'terminating' : 'not-taken-up';
};

const errorWith = (context: RestartContext, text: string, code: string, hint: string): CertrollError =>
  new CertrollError(`${context.host.name}: ${text}`, {
    code,
    exit: EXIT.unknown,
    host: context.host.name,
    hint: `The other hosts were left alone. ${hint} Then run again: it starts from what it finds.`,
  });

/**
 * The edit is taken back where nothing came of it: a kubelet that wakes up later would replace the pod then, outside of the
 * lock, perhaps while another apiserver is down. Only while it is this very edit that lies there. kubelet may have read it
 * all the same, which is why nobody can say what comes of it.
 */
const putBack = async (spec: StaticPodService, edit: Edit, { host }: RestartContext): Promise<string> => {
  try {
    await host.writeFile(spec.manifest, edit.before, { ifSha256: sha256Of(edit.after) });
    return `${spec.manifest} was put back as it was, so that kubelet does not restart it later, outside of the lock`;
  } catch (thrown) {
    return `${spec.manifest} could not be put back (${messageOf(thrown)}), so kubelet may restart it at any moment`;
  }
};

const notReplaced = async (
  spec: StaticPodService,
  edit: Edit,
  last: { readonly fact: ServiceFact; readonly stage: Stage },
  timeoutMs: number,
  context: RestartContext,
): Promise<CertrollError> => {
  const { host, service } = context;
  const seconds = Math.round(timeoutMs / 1000);
  const look = `Look at kubelet and its containers on ${host.name} (journalctl -u kubelet, crictl ps -a).`;
  if (last.stage === 'gone') {
    // For certain, unlike the others: then the last good files of the host are put back.
    return new CertrollError(
      `${host.name}: ${service} does not run after its restart (waited ${seconds} s)`,
      {
        code: 'restart.not-running',
        host: host.name,
        hint: `The other hosts were left alone. ${look}`,
      },
    );
  }
  if (last.stage === 'both')
    return errorWith(
      context,
      `${last.fact.running ? '' : last.fact.detail}, still after ${seconds} s`,
      'restart.two-pods',
      look,
    );
  const old = isInPod(last.fact)
    ? `the old ${service} (pid ${last.fact.pid}, container ${last.fact.pod.containerId.slice(0, 12)})`
    : `the old ${service}`;
  if (last.stage === 'terminating')
    return errorWith(
      context,
      `${old} is not ready and has not ended within ${seconds} s`,
      'restart.terminating',
      look,
    );
  const what = await putBack(spec, edit, context);
  return errorWith(
    context,
    `kubelet did not take up ${spec.manifest} within ${seconds} s; ${old} still runs. ${what}`,
    'restart.not-taken-up',
    look,
  );
};

/**
 * Has kubelet replace the pod, by a note in its manifest: kubelet takes a pod from a file whose content is another for another
 * pod, ends the old one gracefully and starts the new one. Waits until the new one runs, for as long as kubelet may give the old
 * one to end and the cluster file gives a service to get ready.
 */
export const restartPod = async (spec: StaticPodService, context: RestartContext): Promise<void> => {
  const { host, timers } = context;
  const now = await context.look();
  const edit = await prepare(spec, now, context);
  const seen = [...context.seen, now].filter(isInPod);
  await context.beforeSending();
  await host.writeFile(spec.manifest, edit.after, { ifSha256: edit.sha256 });
  context.progress('manifest edited; kubelet is to replace the pod');
  const timeoutMs = edit.graceMs + context.readyTimeoutMs;
  let last: { fact: ServiceFact; stage: Stage } | undefined;
  const replaced = await timers.poll(
    async () => {
      const fact = await context.look();
      if (isReplacement(fact, seen)) return fact;
      const stage = await stageOf(fact, context);
      if (stage !== last?.stage) context.progress(STAGES[stage]);
      last = { fact, stage };
      return undefined;
    },
    { timeoutMs, intervalMs: 1000, signal: context.signal },
  );
  if (!replaced)
    throw await notReplaced(spec, edit, last ?? { fact: now, stage: 'not-taken-up' }, timeoutMs, context);
  context.progress('new container started');
};
