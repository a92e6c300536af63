import { hostname, userInfo } from 'node:os';
import type { ApplySettings, Doors, KeyBindings } from '../changes/change.js';
import { describeFinding, type Plan } from '../changes/plan.js';
import { CertrollError, EXIT } from '../core/errors.js';
import type { Timers } from '../core/poll.js';
import type { HeldLock, HolderInfo, Mutex } from '../etcd/store.js';
import { beforeOf } from '../steps/sa-keys/roll-back.js';
import type { World } from '../trust/world.js';
import { applyPlan } from './apply.js';
import { RunBindings } from './bindings.js';
import type { Emit } from './emit.js';
import { entryJson } from './entry-json.js';
import type { Journal } from './journal.js';
import { observe, type Observation, type ObserveOptions } from './observe.js';
import { observeHost, type SeenHost } from './observe-host.js';
import type { Patience } from './patience.js';
import { preflight, type PreflightLimits } from './preflight.js';
import { verifyWorld } from './verify.js';

export interface RunOptions {
  readonly id: string;
  readonly cluster: string;
  readonly cookbook: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly reason: string | undefined;
  readonly taskId: string | undefined;
  readonly dryRun: boolean;
  readonly doors: Doors;
  readonly observation: Omit<ObserveOptions, 'progress'>;
  /** Draws up the plan of the cookbook on an observed world. Pure. */
  readonly makePlan: (observation: Observation) => Plan;
  readonly settings: ApplySettings;
  readonly limits: PreflightLimits;
  readonly lock: { readonly name: string; readonly ttl: number; readonly waitMs: number };
  /** Sees, before anything else, that the journal can be written; a dry run has none. */
  readonly checkJournal?: () => Promise<void>;
  readonly openJournal: () => Promise<Journal>;
  /** Proves a plan on the world it was drawn up on; throws when it does not hold. */
  readonly prove: (plan: Plan, world: World) => void;
  /** Throws unless a host that a change is about to be made on is still as predicted. */
  readonly checkUnchanged: (past: readonly World[], seen: SeenHost, keys: KeyBindings) => void;
  readonly timers: Timers;
  readonly emit: Emit;
  /** Asked once, after the plan is shown and before the first change. */
  readonly confirm: (plan: Plan) => Promise<boolean>;
  readonly signal: AbortSignal;
  readonly now: () => Date;
}

export interface RunResult {
  readonly plan: Plan;
  readonly before: Observation;
  /** The world after the run; undefined when nothing was applied. */
  readonly after: Observation | undefined;
  readonly outcome: 'nothing-to-do' | 'pending' | 'declined' | 'done';
  readonly journal: string | undefined;
}

/** The lock that a run holds from before it observes until it ends. */
export const runLockName = (registryPrefix: string, cluster: string): string =>
  `${registryPrefix}/${cluster}/run`;

const holderOf = (options: RunOptions, reason: string): HolderInfo => ({
  owner: `${userInfo().username}@${hostname()}`,
  pid: process.pid,
  run: options.id,
  reason: [options.cookbook, reason, options.reason, options.taskId].filter(Boolean).join(': '),
  since: options.now().toISOString(),
});

const mutexOf = (options: RunOptions, name: string, reason: string): Mutex =>
  options.doors.store.mutex(name, {
    ttl: options.lock.ttl,
    waitMs: options.lock.waitMs,
    holder: holderOf(options, reason),
    onWait: (holder) =>
      options.emit({ type: 'lock', state: 'waiting', name, holder: describeHolder(holder) }),
    signal: options.signal,
  });

/** For people: who it is, or which lease when the holder wrote no name, as etcdctl does. */
export const describeHolder = (holder: {
  readonly key: string;
  readonly info: HolderInfo | undefined;
}): string =>
  holder.info
    ? `${holder.info.owner} (pid ${holder.info.pid}, run ${holder.info.run}, since ${holder.info.since}): ${holder.info.reason}`
    : `someone who left no name (etcdctl lock writes none): key ${holder.key}`;

/** A run waits as long for a service that is just being started as it does for one that it has restarted itself. */
const patienceOf = ({ timers, settings, signal }: RunOptions): Patience => ({
  timers,
  timeoutMs: settings.readyTimeoutMs,
  signal,
});

const look = async (options: RunOptions): Promise<Observation> => {
  const observation = await observe({
    ...options.observation,
    patience: patienceOf(options),
    progress: (text, host) =>
      options.emit({ type: 'progress', text, ...(host === undefined ? {} : { host }) }),
  });
  for (const text of observation.notes) options.emit({ type: 'note', level: 'warning', text });
  return observation;
};

/** A plan tells of what was not seen: a report that looked at nothing must not read like a clean one. */
const withUnseen = (plan: Plan, { unseen }: Observation): Plan => ({
  ...plan,
  findings: [
    ...unseen.map(({ host, service, detail }) => ({
      severity: 'critical' as const,
      host,
      text: `no running ${service} was found: ${detail}`,
    })),
    ...plan.findings,
  ],
});

/** observe → plan → prove: what both a dry run and a run do first. */
const prepare = async (options: RunOptions): Promise<{ before: Observation; plan: Plan }> => {
  options.emit({ type: 'phase', name: 'observe' });
  const before = await look(options);
  options.emit({ type: 'phase', name: 'plan' });
  const plan = withUnseen(options.makePlan(before), before);
  for (const finding of plan.findings) {
    const { severity, host } = finding;
    const text = describeFinding(finding);
    options.emit({
      type: 'note',
      level: severity === 'info' ? 'info' : 'warning',
      text: host === undefined ? text : `${host}: ${text}`,
    });
  }
  options.emit({ type: 'plan', entries: plan.entries.map(entryJson) });
  options.emit({ type: 'phase', name: 'prove' });
  options.prove(plan, before.world);
  await preflight(plan, options.doors, before, options.limits, options.now());
  return { before, plan };
};

const applyAndVerify = async (
  options: RunOptions,
  before: Observation,
  plan: Plan,
  journal: Journal,
  runLock: HeldLock,
): Promise<Observation> => {
  const keys = new RunBindings(before.world, (symbol, kid) => {
    bound.push(journal.write({ type: 'bind', symbol, kid }));
  });
  const bound: Promise<void>[] = [];
  options.emit({ type: 'phase', name: 'apply' });
  await applyPlan({
    plan,
    before: before.world,
    look: async (host) => {
      const quiet = { ...options.observation, patience: patienceOf(options), progress: () => undefined };
      return observeHost(host, quiet, before.keyFiles.get(host));
    },
    checkUnchanged: (past, seen) => options.checkUnchanged(past, seen, keys),
    journal,
    emit: options.emit,
    lockName: options.lock.name,
    runLock,
    stop: options.signal,
    mutex: (reason) => mutexOf(options, options.lock.name, reason),
    context: {
      doors: options.doors,
      settings: options.settings,
      keys,
      cluster: options.cluster,
      now: options.now,
      timers: options.timers,
    },
  });
  await Promise.all(bound);
  options.emit({ type: 'phase', name: 'verify' });
  const after = await look(options);
  verifyWorld(plan.predicted, after.world, keys);
  return after;
};

/** Applies a plan with its journal; the journal's last line says how it ended. */
const journaled = async (
  options: RunOptions,
  before: Observation,
  plan: Plan,
  runLock: HeldLock,
): Promise<RunResult> => {
  const journal = await options.openJournal();
  const { id, cluster, cookbook, inputs, reason, taskId } = options;
  try {
    await journal.write({
      type: 'run',
      run: id,
      cluster,
      cookbook,
      inputs,
      reason,
      taskId,
      by: holderOf(options, '').owner,
    });
    await journal.write({ type: 'before', ...beforeOf(before.world) });
    await journal.write({ type: 'plan', entries: plan.entries.map(entryJson) });
    const after = await applyAndVerify(options, before, plan, journal, runLock);
    await journal.write({ type: 'end', outcome: 'done' });
    return { plan, before, after, outcome: 'done', journal: journal.path };
  } catch (thrown) {
    const isWaiting = thrown instanceof CertrollError && thrown.exit === EXIT.waiting;
    await journal.write({
      type: 'end',
      outcome: isWaiting ? 'waiting' : 'failed',
      code: thrown instanceof CertrollError ? thrown.code : 'defect',
    });
    throw thrown;
  } finally {
    await journal.close();
  }
};

/**
 * Runs a cookbook:
 *
 * 1. take the run's own lock, so that two runs on one cluster exclude each other (not in a dry run);
 * 2. observe; 3. plan; 4. prove, and check what must be so before the first change;
 * 5. ask; 6. apply change by change, journaled; 7. verify by observing again.
 *
 * Running again is resuming. A dry run ends after step 4 and changes nothing, anywhere.
 */
export const run = async (options: RunOptions): Promise<RunResult> => {
  if (options.dryRun) {
    const { before, plan } = await prepare(options);
    return {
      plan,
      before,
      after: undefined,
      outcome: plan.entries.length > 0 ? 'pending' : 'nothing-to-do',
      journal: undefined,
    };
  }
  await options.checkJournal?.();
  const runLock = await mutexOf(
    options,
    runLockName(options.settings.registryPrefix, options.cluster),
    'run',
  ).acquire();
  try {
    const { before, plan } = await prepare(options);
    if (plan.entries.length === 0)
      return { plan, before, after: undefined, outcome: 'nothing-to-do', journal: undefined };
    if (!(await options.confirm(plan)))
      return { plan, before, after: undefined, outcome: 'declined', journal: undefined };
    return await journaled(options, before, plan, runLock);
  } finally {
    await runLock.release();
  }
};
