import { Chalk } from 'chalk';
import { TITLES, type Check, type CheckGroup } from '../doctor/check.js';
import { checksOf, countChecks, type DoctorReport } from '../doctor/report.js';
import { foldHosts } from '../hosts/fold.js';
import { printable } from '../core/text.js';
import type { MatrixStyle } from './matrix.js';

const SIGNS = {
  ok: ['✔', 'ok  '],
  failed: ['✖', 'FAIL'],
  warning: ['!', 'warn'],
  skipped: ['-', '-   '],
} as const;

type Paint = (state: Check['state'], text: string) => string;

const painter = ({ color }: MatrixStyle): Paint => {
  const chalk = new Chalk({ level: color ? 1 : 0 });
  const paints = { ok: chalk.green, failed: chalk.red, warning: chalk.yellow, skipped: chalk.dim };
  return (state, text) => paints[state](text);
};

const WIDTH = Math.max(...Object.values(TITLES).map((title) => title.length));

const linesOf = (check: Check, style: MatrixStyle, paint: Paint): readonly string[] => {
  const sign = SIGNS[check.state][style.unicode ? 0 : 1];
  const { subject } = check;
  const what = subject === undefined ? check.text : `${subject}: ${check.text}`;
  const head = `  ${paint(check.state, sign)} ${TITLES[check.id].padEnd(WIDTH)}  ${printable(what)}`;
  if (check.state !== 'failed' && check.state !== 'warning') return [head];
  const arrow = style.unicode ? '→' : '->';
  return [head, `  ${' '.repeat(sign.length)} ${' '.repeat(WIDTH)}  ${arrow} ${printable(check.advice)}`];
};

const isFine = ({ checks }: CheckGroup): boolean => checks.every(({ state }) => state === 'ok');

/** Many nodes without a fault are one line. */
const isFolded = (group: CheckGroup): boolean => group.role === 'node' && isFine(group);

const plural = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`;

const summary = (report: DoctorReport): string => {
  const { ok, warning, failed, skipped } = countChecks(checksOf(report));
  const parts = [
    plural(failed, 'failure', 'failures'),
    plural(warning, 'warning', 'warnings'),
    `${ok} fine`,
    ...(skipped > 0 ? [`${skipped} not checked because of a failure`] : []),
  ];
  const verdict =
    failed > 0
      ? 'a run would be stopped'
      : warning > 0
        ? 'a rotation can run; see the warnings'
        : 'ready for runs and audits';
  return `${report.cluster}: ${parts.join(', ')}: ${verdict}.`;
};

/** All checks, by place, each failure with what to do. */
export const renderDoctor = (report: DoctorReport, style: MatrixStyle): string => {
  const paint = painter(style);
  const folded = report.groups.filter(isFolded);
  const blocks = report.groups
    .filter((group) => !isFolded(group))
    .map(({ name, checks }) => [name, ...checks.flatMap((check) => linesOf(check, style, paint))].join('\n'));
  if (folded.length > 0) {
    const sign = paint('ok', SIGNS.ok[style.unicode ? 0 : 1]);
    const names = foldHosts(folded.map(({ name }) => name));
    blocks.push(`${names}\n  ${sign} all checks of ${plural(folded.length, 'node', 'nodes')}`);
  }
  return `${blocks.join('\n\n')}\n\n${summary(report)}`;
};
