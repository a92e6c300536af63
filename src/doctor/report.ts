import { EXIT, type ExitStatus } from '../core/errors.js';
import type { Check, CheckGroup } from './check.js';

/** All that doctor found out about a cluster. */
export interface DoctorReport {
  readonly version: 1;
  readonly cluster: string;
  /** ISO 8601. */
  readonly at: string;
  readonly groups: readonly CheckGroup[];
}

export type Counts = Readonly<Record<Check['state'], number>>;

export const countChecks = (checks: readonly Check[]): Counts => {
  const of = (state: Check['state']): number => checks.filter((check) => check.state === state).length;
  return { ok: of('ok'), warning: of('warning'), failed: of('failed'), skipped: of('skipped') };
};

export const checksOf = ({ groups }: DoctorReport): readonly Check[] =>
  groups.flatMap(({ checks }) => checks);

/** 1: something would stop a run. 3: only warnings. What was skipped was so because of a failure. */
export const exitOf = (report: DoctorReport): ExitStatus => {
  const { failed, warning } = countChecks(checksOf(report));
  if (failed > 0) return EXIT.failed;
  return warning > 0 ? EXIT.findings : EXIT.done;
};
