import { EXIT } from '../core/errors.js';
import { renderFindings, summarizeFindings } from '../report/findings.js';
import { renderMatrix } from '../report/matrix.js';
import { renderPlan } from '../report/plan.js';
import { entryJson } from '../run/entry-json.js';
import type { RunResult } from '../run/run.js';
import { proved, summary } from './confirm.js';
import { outputStyle, print } from './session.js';

export interface ResultStyle {
  readonly json: boolean;
  /** Only what is not as it should be, or was asked for. */
  readonly quiet: boolean;
  /** The findings are all that the job is for. */
  readonly reportsOnly: boolean;
  /** From when on a certificate is due, as the cluster file says it. */
  readonly renewBefore: string;
}

/** The exit status that a result stands for. */
export const exitOf = ({ outcome, plan }: RunResult): number => {
  if (outcome === 'pending') return EXIT.findings;
  const found = plan.findings.some((finding) => finding.severity !== 'info');
  return outcome === 'nothing-to-do' && found ? EXIT.findings : EXIT.done;
};

/** What is printed at the end, on standard output. */
export const printResult = (result: RunResult, style: ResultStyle): void => {
  const { json, quiet, reportsOnly, renewBefore } = style;
  const { outcome, plan, after, before } = result;
  if (json) {
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
  if (quiet && exitOf(result) === EXIT.done) return;
  const look = outputStyle();
  if (outcome === 'pending') {
    if (plan.findings.length > 0) print(`${renderFindings(plan.findings)}\n`);
    print(renderPlan(plan.entries.map(entryJson), look.color));
    print(`\n${summary(plan)}\n${proved(plan)}\nNothing was changed.`);
  }
  if (outcome === 'nothing-to-do') {
    if (plan.findings.length > 0) print(`${renderFindings(plan.findings)}\n`);
    print(reportsOnly ? summarizeFindings(plan.findings, renewBefore) : 'Nothing to do.');
  }
  if (outcome === 'declined') print('Nothing was changed.');
  if (outcome === 'done') {
    print(renderMatrix((after ?? before).world, look));
    print(`\nDone. Journal: ${result.journal ?? '-'}`);
  }
};
