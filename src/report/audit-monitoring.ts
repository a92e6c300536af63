import type { AuditReport, FindingReport } from '../audit/report.js';
import { oneLine } from '../core/text.js';
import { countFindings } from './audit-table.js';

/** What Nagios and Checkmk call the state of a check. */
export const STATES = ['OK', 'WARNING', 'CRITICAL'] as const;

/** 0 OK, 1 WARNING, 2 CRITICAL: the gravest finding. */
export const stateOf = (findings: readonly Pick<FindingReport, 'severity'>[]): 0 | 1 | 2 =>
  findings.some(({ severity }) => severity === 'critical')
    ? 2
    : findings.some(({ severity }) => severity === 'warning')
      ? 1
      : 0;

const count = (findings: readonly FindingReport[], severity: FindingReport['severity']): number =>
  findings.filter((each) => each.severity === severity).length;

/** Days until the first certificate runs out, on disk or served; undefined when there is none. */
const daysLeft = ({ clusters }: AuditReport): number | undefined => {
  const lefts = clusters.flatMap(({ at, items }) =>
    items.flatMap(({ onDisk, served }) =>
      [...onDisk.certificates, ...(served?.certificates ?? [])].map(
        ({ notAfter }) => (Date.parse(notAfter) - Date.parse(at)) / 86_400_000,
      ),
    ),
  );
  return lefts.length === 0 ? undefined : Math.floor(lefts.reduce((least, each) => Math.min(least, each)));
};

// The bar ends the text of a plugin's line.
const inLine = (text: string): string => oneLine(text).replaceAll('|', '/');

const gravest = (findings: readonly FindingReport[]): string => {
  const [first] = findings;
  if (!first || first.severity === 'info') return '';
  return `: ${inLine(`${first.host === undefined ? '' : `${first.host}: `}${first.text}`)}`;
};

/** One line with performance data, as a plugin of Nagios prints it. */
export const renderNagios = (report: AuditReport): string => {
  const findings = report.clusters.flatMap((each) => each.findings);
  const days = daysLeft(report);
  const performance = [
    `critical=${count(findings, 'critical')}`,
    `warnings=${count(findings, 'warning')}`,
    ...(days === undefined ? [] : [`days_left=${days}`]),
  ].join(' ');
  const names = report.clusters.map(({ name }) => name).join(', ');
  const sorted = [...findings].sort((a, b) => stateOf([b]) - stateOf([a]));
  return `CERTROLL ${STATES[stateOf(findings)]} - ${names}: ${countFindings(findings)}${gravest(sorted)} | ${performance}`;
};

/** One line a cluster, as a local check of Checkmk prints it: `STATE "NAME" METRICS TEXT`. */
export const renderCheckmk = (report: AuditReport): string =>
  report.clusters
    .map((cluster) => {
      const { findings, name } = cluster;
      const days = daysLeft({ ...report, clusters: [cluster] });
      const metrics = [
        `critical=${count(findings, 'critical')}`,
        `warnings=${count(findings, 'warning')}`,
        ...(days === undefined ? [] : [`days_left=${days}`]),
      ].join('|');
      return `${stateOf(findings)} "certroll ${name}" ${metrics} ${countFindings(findings)}${gravest(findings)}`;
    })
    .join('\n');
