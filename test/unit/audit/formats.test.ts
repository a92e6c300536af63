import { describe, expect, it } from 'vitest';
import { auditReportSchema, clusterReport } from '../../../src/audit/report.js';
import { renderAuditHtml } from '../../../src/report/audit-html.js';
import { renderCheckmk, renderNagios } from '../../../src/report/audit-monitoring.js';
import { renderAuditPrometheus } from '../../../src/report/audit-prometheus.js';
import { renderAuditTable } from '../../../src/report/audit-table.js';
import { facts, host, NOW, pem, serving, withCertificates } from './seen.js';

withCertificates();

describe('the formats', () => {
  const report = () => ({
    version: 1 as const,
    at: NOW.toISOString(),
    clusters: [
      clusterReport(
        facts(
          [
            host('<b>cp1</b>', {
              files: { ...serving('old'), 'client-ca-file': { text: pem('ca') } },
              served: pem('leaf'),
            }),
          ],
          {
            failures: [{ host: 'cp9', text: 'line\n| "x" \u001b[31m<script>', hint: 'do' }],
          },
        ),
      ),
    ],
  });

  it('JSON is what the schema says', () => {
    expect(auditReportSchema.parse(JSON.parse(JSON.stringify(report())))).toEqual(report());
  });

  it('the page stands by itself, escapes what hosts say and needs no script', () => {
    const page = renderAuditHtml(report());
    expect(page).not.toMatch(/<script|<b>cp1|\u001b|src=|href="http/);
    expect(page).toContain('&lt;b&gt;cp1&lt;/b&gt;');
    expect(page).toMatch(/expired 1d ago/);
    expect(page).toMatch(/@media print/);
  });

  it('metrics have one type and help each, one line a series, and escaped labels', () => {
    const lines = renderAuditPrometheus(report()).trimEnd().split('\n');
    const series = lines.filter((line) => !line.startsWith('#')).map((line) => line.replace(/ [^ ]+$/, ''));
    expect(new Set(series).size).toBe(series.length);
    const types = lines.filter((line) => line.startsWith('# TYPE'));
    expect(new Set(types).size).toBe(types.length);
    for (const line of lines.filter((each) => !each.startsWith('#')))
      expect(line).toMatch(/^[a-z_]+\{([a-z_]+="([^"\\\n]|\\.)*",?)+\} -?[0-9.]+$/);
    const [end] = lines.filter((line) => /not_after_.*place="served"/.test(line));
    expect(end).toMatch(/ \d{10}$/);
  });

  it('monitoring gets one line, with a bar only before the metrics', () => {
    expect(renderNagios(report())).toMatch(
      /^CERTROLL CRITICAL - prod: \d+ critical, 1 warning, 0 info: [^|\n\u001b]+ \| critical=\d+ warnings=1 days_left=-\d+$/,
    );
    expect(renderCheckmk(report())).toMatch(
      /^2 "certroll prod" critical=\d+\|warnings=1\|days_left=-\d+ \d+ critical[^|\n]+$/,
    );
  });

  it.each([60, 100, 120])('no row of a table is wider than %s columns', (width) => {
    const text = renderAuditTable(report(), { color: false, unicode: true, width });
    expect(text).toContain('certificate-expired');
    // Titles and sentences are left to the terminal to break.
    const isSentence = (line: string): boolean => /^( {2}(why|do): |\S+: what the processes use )/.test(line);
    const rows = text.split('\n').filter((line) => !isSentence(line));
    expect(rows.length).toBeGreaterThan(5);
    expect(rows.filter((line) => line.length > width)).toEqual([]);
  });
});
