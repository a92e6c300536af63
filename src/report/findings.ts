import { shortNames } from './names.js';
import { renderTable } from './table.js';

/** What a step saw, as it is shown. */
export interface ShownFinding {
  readonly severity: 'info' | 'warning' | 'critical';
  readonly host: string | undefined;
  readonly text: string;
}

interface Expiry {
  readonly what: string;
  readonly left: string;
  readonly until: string;
}

/** The parts of a finding about a certificate's life, which is text like every other; undefined for others. */
const expiryOf = ({ text }: ShownFinding): Expiry | undefined => {
  const [, what, left, until] = /^(.+): (\S.* left|expired .+ ago) \((\S+Z)\)$/.exec(text) ?? [];
  if (what === undefined || left === undefined || until === undefined) return undefined;
  return { what, left: left.replace(/ left$/, ''), until: until.replace(/\.\d+Z$/, 'Z') };
};

/** Findings as a table; those about certificates have how long they last in columns of their own. */
export const renderFindings = (findings: readonly ShownFinding[]): string => {
  if (findings.length === 0) return '';
  const names = shortNames(findings.flatMap(({ host }) => host ?? []));
  const isDated = findings.some((finding) => expiryOf(finding) !== undefined);
  const rows = findings.map((finding) => {
    const { severity, host, text } = finding;
    const expiry = expiryOf(finding);
    const start = [severity, host === undefined ? '-' : (names.get(host) ?? host), expiry?.what ?? text];
    return isDated ? [...start, expiry?.left ?? '', expiry?.until ?? ''] : start;
  });
  return renderTable([['SEVERITY', 'HOST', 'WHAT', ...(isDated ? ['LEFT', 'UNTIL'] : [])], ...rows]);
};

/** What a cookbook that only reports came to: `24 certificates: 0 expired, 1 expiring within 30d.` */
export const summarizeFindings = (findings: readonly ShownFinding[], renewBefore: string): string => {
  const certificates = findings.filter((finding) => expiryOf(finding) !== undefined);
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
