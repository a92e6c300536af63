import { createInterface } from 'node:readline/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Change } from '../changes/change.js';
import { hostOfChange } from '../changes/index.js';
import { changesOf, type Plan } from '../changes/plan.js';
import { countEntries, renderPlan } from '../report/plan.js';
import { entryJson } from '../run/entry-json.js';
import type { RunOptions } from '../run/run.js';

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
export const proved = (plan: Plan): string => {
  const deleted = changesOf(plan).filter(({ kind }) => kind === 'delete-secret').length;
  return deleted === 0
    ? PROVED
    : `${PROVED}\nBut for the tokens of the ${deleted} Secrets to be deleted: they are refused from then on, also where one is still held in memory.`;
};

/** What a plan comes to, in one line. */
export const summary = (plan: Plan): string => {
  const changes = changesOf(plan);
  const count = (kind: Change['kind']): number => changes.filter((change) => change.kind === kind).length;
  const hosts = new Set(changes.flatMap((change) => hostOfChange(change) ?? [])).size;
  return `${countEntries(plan.entries)}, on ${hosts} ${hosts === 1 ? 'host' : 'hosts'}; ${count('generate-key')} new keys, ${count('restart-service')} restarts, one at a time.`;
};

export interface ConfirmOptions {
  /** Agreed to beforehand: nobody is asked. */
  readonly isAgreed: boolean;
  /** The plan is not shown where nobody is asked. */
  readonly isQuiet: boolean;
  /** Has the live view stand aside. */
  readonly pauseReporter: () => void;
}

/** Shows the plan, on standard error, and asks on a terminal unless it is agreed to: the log of a cron job has the plan too. */
export const confirmOnTerminal =
  ({ isAgreed, isQuiet, pauseReporter }: ConfirmOptions): RunOptions['confirm'] =>
  async (plan) => {
    if (isAgreed && isQuiet) return true;
    pauseReporter();
    process.stderr.write(`${renderPlan(plan.entries.map(entryJson), process.stderr.isTTY)}\n\n`);
    process.stderr.write(`${summary(plan)}\n${proved(plan)}\n`);
    return isAgreed || ask(`Make these ${changesOf(plan).length} changes? [y/N] `);
  };
