import { randomBytes } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Change } from '../changes/change.js';
import { hostOfChange } from '../changes/index.js';
import { changesOf, type Plan } from '../changes/plan.js';
import type { Cluster } from '../cluster/load.js';
import { bindInputs, type InputValue } from '../cookbook/inputs.js';
import { loadCookbook } from '../cookbook/load.js';
import { parseDuration } from '../core/duration.js';
import { CertrollError, EXIT } from '../core/errors.js';
import { renderMatrix } from '../report/matrix.js';
import { renderPlan } from '../report/plan.js';
import { applySettings } from '../run/doors.js';
import { entryJson } from '../run/entry-json.js';
import { makePlan } from '../run/plan.js';
import { run, type RunOptions, type RunResult } from '../run/run.js';
import { stepCatalog } from '../steps/catalog.js';
import type { Site } from '../steps/step.js';
import type { RunFlags } from './commands/run.js';
import { chooseReporter, emitTo, outputStyle, print, withSession, type Session } from './session.js';

const usage = (message: string, hint: string): CertrollError =>
  new CertrollError(message, { code: 'usage', exit: EXIT.usage, hint });

const givenInputs = (flags: RunFlags): Readonly<Record<string, InputValue>> => {
  const given: Record<string, InputValue> = {};
  for (const text of flags.input) {
    const equals = text.indexOf('=');
    if (equals < 1) throw usage(`--input ${text}`, 'Write it as NAME=VALUE.');
    given[text.slice(0, equals)] = text.slice(equals + 1);
  }
  return flags.force === true ? { ...given, force: true } : given;
};

const runId = (now: Date): string =>
  `${now.toISOString().replace(/[-:]|\.\d+/g, '')}-${randomBytes(3).toString('hex')}`;

const siteOf = (cluster: Cluster, id: string): Site => ({
  hosts: cluster.hosts.controlPlanes,
  mode: cluster.serviceAccounts.mode,
  algorithm: cluster.serviceAccounts.algorithm,
  certified: cluster.issuer.type !== 'none',
  renewBeforeMs: parseDuration(cluster.thresholds.renewBefore),
  bundle: cluster.serviceAccounts.bundle,
  certificate: cluster.serviceAccounts.certificate,
  runId: id,
});

const defaultStateDir = (): string =>
  join(process.env['XDG_STATE_HOME'] ?? join(homedir(), '.local', 'state'), 'certroll');

/** First signal: stop after the change under way. Second: at once. `say` is told what happens. */
const stopOnSignals = (say: (text: string) => void): AbortSignal => {
  const controller = new AbortController();
  const stop = (signal: NodeJS.Signals): void => {
    if (controller.signal.aborted) process.exit(EXIT.failed);
    say(
      `${signal}: stopping once the change under way is finished, and giving the lock back; again: at once`,
    );
    controller.abort(
      new CertrollError(`stopped by ${signal}`, {
        code: 'run.interrupted',
        hint: 'Nothing is lost: run again to go on from here.',
      }),
    );
  };
  process.on('SIGINT', stop).on('SIGTERM', stop).on('SIGHUP', stop);
  return controller.signal;
};

/** Milliseconds without a key press after which the terminal's queue counts as empty. */
const QUIET_MS = 100;

/** Throws away what was typed before the question could be read: it was no answer to it. */
const dropTypeAhead = async (): Promise<void> => {
  const { stdin } = process;
  stdin.setRawMode(true);
  const drop = (): void => undefined;
  stdin.on('data', drop).resume();
  await delay(QUIET_MS);
  stdin.off('data', drop).pause();
  stdin.setRawMode(false);
};

const ask = async (question: string): Promise<boolean> => {
  await dropTypeAhead();
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(question)).trim());
  } finally {
    terminal.close();
  }
};

const PROVED =
  'Proved: after each of these changes, and after a crash at any moment between them, no token is refused that is accepted now.';

/** What of a plan is proved. A deleted token is the exception, and meant. */
const proved = (plan: Plan): string => {
  const deleted = changesOf(plan).filter(({ kind }) => kind === 'delete-secret').length;
  return deleted === 0
    ? PROVED
    : `${PROVED}\nBut for the tokens of the ${deleted} Secrets to be deleted: they are refused from then on, also where one is still held in memory.`;
};

/** What a plan comes to, in one line. */
const summary = (plan: Plan): string => {
  const changes = changesOf(plan);
  const count = (kind: Change['kind']): number => changes.filter((change) => change.kind === kind).length;
  const hosts = new Set(changes.flatMap((change) => hostOfChange(change) ?? [])).size;
  const gates = plan.entries.length - changes.length;
  return `${changes.length} changes and ${gates} gates on ${hosts} hosts: ${count('generate-key')} new keys, ${count('restart-service')} restarts, one at a time.`;
};

/** Shows the plan and asks, on a terminal; the live view stands aside meanwhile. */
const confirmOnTerminal =
  (flags: RunFlags, pauseReporter: () => void): RunOptions['confirm'] =>
  async (plan) => {
    if (flags.yes === true) return true;
    pauseReporter();
    process.stderr.write(`${renderPlan(plan.entries.map(entryJson), process.stderr.isTTY)}\n\n`);
    process.stderr.write(`${summary(plan)}\n${proved(plan)}\n`);
    return ask(`Make these ${changesOf(plan).length} changes? [y/N] `);
  };

/** What is printed at the end, on standard output. */
const printResult = (result: RunResult, flags: RunFlags): void => {
  const { outcome, plan, after, before } = result;
  if (flags.json === true) {
    print(
      JSON.stringify({
        type: 'result',
        outcome,
        changes: plan.entries.map(entryJson),
        findings: plan.findings,
        journal: result.journal,
      }),
    );
    return;
  }
  const style = outputStyle();
  if (outcome === 'pending') {
    for (const { host, text } of plan.findings) print(`${host === undefined ? '' : `${host}: `}${text}`);
    print(renderPlan(plan.entries.map(entryJson), style.color));
    print(`\n${summary(plan)}\n${proved(plan)}\nNothing was changed.`);
  }
  if (outcome === 'nothing-to-do') {
    for (const { severity, host, text } of plan.findings)
      print(`${severity.padEnd(8)}  ${host === undefined ? '' : `${host}: `}${text}`);
    print('Nothing to do.');
  }
  if (outcome === 'declined') print('Nothing was changed.');
  if (outcome === 'done') {
    print(renderMatrix((after ?? before).world, style));
    print(`\nDone. Journal: ${result.journal ?? '-'}`);
  }
};

const exitOf = ({ outcome, plan }: RunResult): number => {
  if (outcome === 'pending') return EXIT.findings;
  const found = plan.findings.some((finding) => finding.severity !== 'info');
  return outcome === 'nothing-to-do' && found ? EXIT.findings : EXIT.done;
};

/** `certroll run` and `certroll plan`; resolves to the exit status. */
export const runCookbook = async (name: string, flags: RunFlags): Promise<number> => {
  const cookbook = await loadCookbook(name, ['cookbooks', ...flags.cookbookDir], stepCatalog);
  const inputs = bindInputs(cookbook, givenInputs(flags));
  const dryRun = flags.dryRun === true;
  const reportsOnly = cookbook.steps.every(({ uses }) => stepCatalog.get(uses)?.reportsOnly === true);
  const legacyTokens = cookbook.steps.some(
    ({ uses }) => stepCatalog.get(uses)?.observes?.includes('legacy-tokens') === true,
  );
  if (!dryRun && !reportsOnly && flags.yes !== true && !process.stdin.isTTY) {
    throw usage(
      'there is no terminal to ask on',
      'Give --yes to run without a question, or --dry-run to see the plan only.',
    );
  }
  return withSession(flags.cluster, async ({ cluster, doors, observation }: Session) => {
    const id = runId(new Date());
    const reporter = await chooseReporter(flags.json === true);
    const emit = emitTo(reporter);
    const signal = stopOnSignals((text) => emit({ type: 'note', level: 'warning', text }));
    try {
      const result = await run({
        id,
        cluster: cluster.name,
        cookbook: cookbook.name,
        inputs,
        reason: flags.reason,
        taskId: flags.taskId,
        dryRun,
        doors,
        observation: { ...observation, legacyTokens },
        makePlan: ({ world }) =>
          makePlan(world, { cookbook, inputs, steps: stepCatalog, site: siteOf(cluster, id) }),
        settings: applySettings(cluster),
        limits: {
          clockSkewMs: parseDuration(cluster.thresholds.clockSkew),
          freeBytes: cluster.thresholds.freeSpace,
        },
        lock: {
          name: cluster.lock.name,
          ttl: Math.ceil(parseDuration(cluster.lock.ttl) / 1000),
          waitMs: parseDuration(cluster.lock.wait),
        },
        stateDir: flags.stateDir ?? defaultStateDir(),
        emit,
        confirm: confirmOnTerminal(flags, () => reporter.end()),
        signal,
        now: () => new Date(),
      });
      reporter.end();
      printResult(result, flags);
      return exitOf(result);
    } finally {
      reporter.end();
    }
  });
};
