import { formatDuration, formatLeft } from '../core/duration.js';
import { shortNames } from './names.js';
import { renderTable } from './table.js';

/** What a step saw, as it is shown. */
export interface ShownFinding {
  readonly severity: 'info' | 'warning' | 'critical';
  readonly host: string | undefined;
  readonly text: string;
  readonly expires?: { readonly notAfter: Date; readonly leftMs: number };
}

/** `65d`, or `expired 35d ago`: the column says that it is what is left. */
const left = (ms: number): string => (ms < 0 ? formatLeft(ms) : formatDuration(ms));

const until = (notAfter: Date): string => notAfter.toISOString().replace(/\.\d+Z$/, 'Z');

/** Findings as a table; how long something lasts stands in columns of its own. */
export const renderFindings = (findings: readonly ShownFinding[]): string => {
  if (findings.length === 0) return '';
  const names = shortNames(findings.flatMap(({ host }) => host ?? []));
  const isDated = findings.some(({ expires }) => expires);
  const rows = findings.map(({ severity, host, text, expires }) => {
    const start = [severity, host === undefined ? '-' : (names.get(host) ?? host), text];
    if (!isDated) return start;
    return expires ? [...start, left(expires.leftMs), until(expires.notAfter)] : [...start, '', ''];
  });
  return renderTable([['SEVERITY', 'HOST', 'WHAT', ...(isDated ? ['LEFT', 'UNTIL'] : [])], ...rows]);
};

/** What a cookbook that only reports came to: `24 certificates: 0 expired, 1 expiring within 30d.` */
export const summarizeFindings = (findings: readonly ShownFinding[], renewBefore: string): string => {
  const certificates = findings.filter(({ expires }) => expires);
  const count = (severity: ShownFinding['severity']): number =>
    certificates.filter((finding) => finding.severity === severity).length;
  const parts: string[] = [];
  if (certificates.length > 0)
    parts.push(
      `${certificates.length} certificate${certificates.length === 1 ? '' : 's'}: ${count('critical')} expired, ${count('warning')} expiring within ${renewBefore}`,
    );
  const others = findings.length - certificates.length;
  // A host that was not seen must not be lost in a summary that reads well.
  if (others > 0)
    parts.push(`${others} ${certificates.length > 0 ? 'other ' : ''}finding${others === 1 ? '' : 's'}`);
  return `${parts.join('; ') || 'No findings'}.`;
};
