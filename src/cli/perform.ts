import { randomBytes } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Plan } from '../changes/plan.js';
import type { Cluster } from '../cluster/load.js';
import { parseDuration } from '../core/duration.js';
import { CertrollError, EXIT } from '../core/errors.js';
import { realTimers } from '../core/poll.js';
import { applySettings } from '../run/doors.js';
import type { Emit } from '../run/emit.js';
import { checkJournal, openJournal } from '../run/journal.js';
import type { Observation } from '../run/observe.js';
import { proveAll } from '../run/prove-all.js';
import { run, runLockName } from '../run/run.js';
import { checkUnchanged } from '../run/unchanged.js';
import type { Site } from '../steps/step.js';
import { confirmOnTerminal } from './confirm.js';
import { exitOf, printResult } from './print-result.js';
import { chooseReporter, emitTo, withSession, type Session } from './session.js';
import { leftBehind, stopOnSignals } from './signals.js';

const runId = (now: Date): string =>
  `${now.toISOString().replace(/[-:]|\.\d+/g, '')}-${randomBytes(3).toString('hex')}`;

const siteOf = (cluster: Cluster, id: string): Site => ({
  hosts: cluster.hosts.controlPlanes,
  mode: cluster.serviceAccounts.mode,
  algorithm: cluster.serviceAccounts.algorithm,
  certified: cluster.issuer.type !== 'none',
  renewBeforeMs: parseDuration(cluster.thresholds.renewBefore),
  jwksMaxAgeMs: parseDuration(cluster.serviceAccounts.jwksMaxAge),
  bundle: cluster.serviceAccounts.bundle,
  certificate: cluster.serviceAccounts.certificate,
  runId: id,
});

const defaultStateDir = (): string =>
  join(process.env['XDG_STATE_HOME'] ?? join(homedir(), '.local', 'state'), 'certroll');

/** Flags that all commands which may change a cluster have. */
export interface PerformFlags {
  readonly cluster: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly reason?: string;
  readonly taskId?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly stateDir?: string;
}

/** Something that is observed, planned, proved, asked about, applied and verified. */
export interface Job {
  /** Names it in the journal and the lock: a cookbook, or `rollback RUN`. */
  readonly name: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  /** Adds nothing but findings: it has no journal, and its findings are its result. */
  readonly reportsOnly?: boolean;
  /** What must be observed besides what always is. */
  readonly observes: { readonly legacyTokens?: boolean; readonly previous?: boolean };
  /** Pure. */
  readonly makePlan: (observation: Observation, site: Site) => Plan;
}

/** Where journals are kept. */
export const stateDirOf = (flags: { readonly stateDir?: string }): string =>
  flags.stateDir ?? defaultStateDir();

/** Findings that are all a job is for stand in its table, and are not told while it is drawn up besides. */
const withoutFindings = (emit: Emit): Emit => {
  let phase = '';
  return (event) => {
    if (event.type === 'phase') phase = event.name;
    if (event.type !== 'note' || phase !== 'plan') emit(event);
  };
};

/** Throws `usage` (exit 2) when there is nobody who could agree to changes. */
export const needsConsent = (flags: PerformFlags): void => {
  if (flags.dryRun === true || flags.yes === true || process.stdin.isTTY) return;
  throw new CertrollError('there is no terminal to ask on', {
    code: 'usage',
    exit: EXIT.usage,
    hint: 'Give --yes to run without a question, or --dry-run to see the plan only.',
  });
};

/** Runs a job on a cluster, with everything around it that a user sees; resolves to the exit status. */
export const perform = async (
  flags: PerformFlags,
  prepare: (cluster: Cluster) => Promise<Job>,
): Promise<number> =>
  withSession(flags.cluster, async ({ cluster, doors, observation }: Session) => {
    const job = await prepare(cluster);
    const id = runId(new Date());
    const reporter = await chooseReporter(flags);
    const reportsOnly = job.reportsOnly === true;
    const emit = reportsOnly && flags.json !== true ? withoutFindings(emitTo(reporter)) : emitTo(reporter);
    const settings = applySettings(cluster);
    const lockSeconds = Math.ceil(parseDuration(cluster.lock.ttl) / 1000);
    const locks = [cluster.lock.name, runLockName(settings.registryPrefix, cluster.name)];
    const signal = stopOnSignals({
      say: (text) => emit({ type: 'note', level: 'warning', text }),
      sayLast: (text) => {
        reporter.end();
        process.stderr.write(`certroll: ${text}\n`);
      },
      left: flags.dryRun === true ? 'nothing was changed' : leftBehind(locks, lockSeconds),
    });
    try {
      const result = await run({
        id,
        cluster: cluster.name,
        cookbook: job.name,
        inputs: job.inputs,
        reason: flags.reason,
        taskId: flags.taskId,
        dryRun: flags.dryRun === true,
        doors,
        observation: { ...observation, ...job.observes },
        makePlan: (seen) => job.makePlan(seen, siteOf(cluster, id)),
        settings,
        limits: {
          clockSkewMs: parseDuration(cluster.thresholds.clockSkew),
          freeBytes: cluster.thresholds.freeSpace,
        },
        lock: {
          name: cluster.lock.name,
          ttl: lockSeconds,
          waitMs: parseDuration(cluster.lock.wait),
        },
        // A job that only reports has no journal.
        ...(!reportsOnly && {
          checkJournal: async () => checkJournal(stateDirOf(flags), cluster.name, id),
        }),
        openJournal: async () => openJournal(stateDirOf(flags), cluster.name, id, () => new Date()),
        prove: proveAll,
        checkUnchanged,
        timers: realTimers,
        emit,
        confirm: confirmOnTerminal({
          isAgreed: flags.yes === true,
          isQuiet: flags.json === true || flags.quiet === true,
          pauseReporter: () => reporter.end(),
        }),
        signal,
        now: () => new Date(),
      });
      reporter.end();
      printResult(result, {
        json: flags.json === true,
        quiet: flags.quiet === true,
        reportsOnly,
        renewBefore: cluster.thresholds.renewBefore,
      });
      return exitOf(result);
    } catch (thrown) {
      // All is well, and the status says so; every night for a year it would be noise.
      if (flags.quiet === true && thrown instanceof CertrollError && thrown.exit === EXIT.waiting)
        return thrown.exit;
      throw thrown;
    } finally {
      reporter.end();
    }
  });
