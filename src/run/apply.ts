import type { ApplyContext } from '../changes/change.js';
import { checkGate } from '../changes/gate.js';
import { applyChange } from '../changes/index.js';
import { describeEntry, hostOfEntry, modelEntry, type Plan, type PlanEntry } from '../changes/plan.js';
import { CertrollError, EXIT, messageOf } from '../core/errors.js';
import type { HeldLock, Mutex } from '../etcd/store.js';
import type { Emit } from './emit.js';
import type { World } from '../trust/world.js';
import { fencedDoors, type FenceOptions } from './fenced-doors.js';
import type { Journal } from './journal.js';
import type { SeenHost } from './observe-host.js';

export interface ApplyOptions {
  readonly plan: Plan;
  /** The world that the plan was drawn up on. */
  readonly before: World;
  /** Looks at a host again, right before a change of it. */
  readonly look: (host: string) => Promise<SeenHost>;
  /** Throws unless a host is still as predicted for this moment, the last of the worlds. */
  readonly checkUnchanged: (past: readonly World[], seen: SeenHost) => void;
  /** Everything but the lock, which comes and goes with the sections of the plan. */
  readonly context: Omit<ApplyContext, 'lock' | 'progress' | 'signal'>;
  /** The lock of the whole run. */
  readonly runLock: HeldLock;
  readonly journal: Journal;
  readonly emit: Emit;
  readonly lockName: string;
  /**
   * The user's wish to stop: heeded between entries only. A change under way is finished, so that the lock is never given
   * back while an apiserver is not ready again. (A lock that is lost ends an entry at once.)
   */
  readonly stop: AbortSignal;
  /** A mutex whose holder info gives the reason of a section. */
  readonly mutex: (reason: string) => Mutex;
}

/** The lock that the current section holds. */
interface Section {
  readonly name: string | undefined;
  readonly lock: HeldLock | undefined;
}

const NO_SECTION: Section = { name: undefined, lock: undefined };

const leave = async (section: Section, options: ApplyOptions): Promise<void> => {
  if (!section.lock) return;
  await section.lock.release();
  options.emit({ type: 'lock', state: 'released', name: options.lockName });
};

const enter = async (name: string | undefined, options: ApplyOptions): Promise<Section> => {
  if (name === undefined) return NO_SECTION;
  const lock = await options.mutex(name).acquire();
  options.emit({ type: 'lock', state: 'acquired', name: options.lockName });
  return { name, lock };
};

/** Looks whether the host of an entry is still as predicted for the moment before it, and says what its files hold. */
const lookAgain = async (
  entry: PlanEntry,
  past: readonly World[],
  options: ApplyOptions,
): Promise<FenceOptions['seen']> => {
  const host = hostOfEntry(entry);
  if (host === undefined) return undefined;
  const seen = await options.look(host);
  options.checkUnchanged(past, seen);
  return { host, sums: seen.sums };
};

/** Journals, applies and verifies one entry. */
const applyEntry = async (
  entry: PlanEntry,
  past: readonly World[],
  lock: HeldLock | undefined,
  options: ApplyOptions,
): Promise<void> => {
  const { journal, emit } = options;
  const host = hostOfEntry(entry);
  const what = { id: entry.id, text: describeEntry(entry), ...(host === undefined ? {} : { host }) };
  const { runLock } = options;
  const signal = lock ? AbortSignal.any([runLock.signal, lock.signal]) : runLock.signal;
  const contextWith = (seen: FenceOptions['seen']): ApplyContext => ({
    ...options.context,
    doors: fencedDoors(options.context.doors, { runLock, sectionLock: lock, seen }),
    lock,
    signal,
    progress: (text, on) =>
      emit({ type: 'progress', id: entry.id, text, ...(on === undefined ? {} : { host: on }) }),
  });
  signal.throwIfAborted();
  runLock.assertHeld();
  options.stop.throwIfAborted();
  await journal.write({ type: 'start', ...what });
  emit({ type: 'entry', state: 'started', ...what });
  try {
    const context = contextWith(await lookAgain(entry, past, options));
    if (entry.kind === 'change') await applyChange(entry.change, context);
    else await checkGate(entry.gate, context);
  } catch (thrown) {
    const code = thrown instanceof CertrollError ? thrown.code : 'defect';
    const state = thrown instanceof CertrollError && thrown.exit === EXIT.waiting ? 'waiting' : 'failed';
    await journal.write({ type: state, ...what, code, error: messageOf(thrown) });
    emit({ type: 'entry', state, ...what, detail: messageOf(thrown) });
    throw thrown;
  }
  await journal.write({ type: 'done', ...what });
  emit({ type: 'entry', state: 'done', ...what });
};

/**
 * Applies a plan entry by entry. Entries of one section share one holding of the lock. The first failure stops the
 * run: nothing after it is sent, and the lock is given back.
 */
export const applyPlan = async (options: ApplyOptions): Promise<void> => {
  let section = NO_SECTION;
  let predicted = options.before;
  const past = [predicted];
  try {
    for (const entry of options.plan.entries) {
      if (entry.section !== section.name) {
        await leave(section, options);
        section = NO_SECTION;
        section = await enter(entry.section, options);
      }
      await applyEntry(entry, past, section.lock, options);
      predicted = modelEntry(entry, predicted);
      past.push(predicted);
    }
  } finally {
    await leave(section, options);
  }
};
