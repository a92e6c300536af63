import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { renderAuditPrometheus } from '../../../src/report/audit-prometheus.js';
import { scheduleFiles } from '../../../src/report/audit-schedule.js';
import { tempFolder } from '../../support/temp.js';
import { sampleReport } from './sample.js';

const ALERTS = 'certroll-alerts.yaml';

const folder = tempFolder();
const files = scheduleFiles({
  ...{ name: 'prod', program: ['/usr/bin/certroll'], user: 'certroll' },
  ...{ cluster: '/etc/certroll/prod.yaml', metricsFolder: '/var/lib/metrics' },
});
folder.write(ALERTS, files.get(ALERTS) ?? '');

interface Said {
  readonly exitCode: number | undefined;
  readonly text: string;
}

const promtool = async (argv: readonly string[], input?: string): Promise<Said> => {
  const stdin = input === undefined ? ({ stdin: 'ignore' } as const) : { input };
  const { exitCode, all } = await execa('promtool', argv, {
    ...stdin,
    cwd: folder.path,
    reject: false,
    all: true,
  });
  return { exitCode, text: all };
};

interface Series {
  readonly series: string;
  readonly values: string;
}

/** Which alerts fire at a time, by Prometheus' own evaluation. */
const firing = async (series: readonly Series[], at: string, alert: string, count: number): Promise<Said> => {
  const test = {
    rule_files: [ALERTS],
    evaluation_interval: '1h',
    tests: [
      {
        interval: '1h',
        input_series: series.map(({ series: name, values }) => ({ series: name, values })),
        promql_expr_test: [
          {
            expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(0)`,
            eval_time: at,
            exp_samples: [{ labels: '{}', value: count }],
          },
        ],
      },
    ],
  };
  folder.write('test.yaml', JSON.stringify(test));
  return promtool(['test', 'rules', 'test.yaml']);
};

const DAY_S = 86_400;
const certificate = (name: string): string =>
  `certroll_certificate_not_after_timestamp_seconds{cluster="prod",host="cp1",component="etcd",path="/x",place="disk",subject="${name}"}`;

describe('what Prometheus is given', () => {
  it('is metrics that promtool has nothing to say of', async () => {
    const metrics = renderAuditPrometheus(sampleReport());
    expect(metrics.split('\n').length).toBeGreaterThan(50);
    expect(await promtool(['check', 'metrics'], metrics)).toEqual({ exitCode: 0, text: '' });
    // It does look: a name against the convention is told of.
    expect((await promtool(['check', 'metrics'], '# TYPE x_total gauge\nx_total 1\n')).exitCode).not.toBe(0);
  });

  it('is rules that promtool takes', async () => {
    expect(await promtool(['check', 'rules', ALERTS])).toMatchObject({
      exitCode: 0,
      text: expect.stringContaining('8 rules found') as string,
    });
  });

  it.each([
    [
      'CertrollCertificateExpiring',
      '2h',
      1,
      [
        [certificate('soon'), 10 * DAY_S],
        [certificate('late'), 30 * DAY_S],
      ],
    ],
    [
      'CertrollCertificateExpired',
      '0h',
      1,
      [
        [certificate('over'), -DAY_S],
        [certificate('soon'), DAY_S],
      ],
    ],
    ['CertrollCertificateExpiring', '2h', 0, [[certificate('over'), -DAY_S]]],
    [
      'CertrollStaleInMemory',
      '30h',
      1,
      [
        ['certroll_file_stale_in_memory{host="cp1"}', 1],
        ['certroll_file_stale_in_memory{host="cp2"}', 0],
      ],
    ],
    [
      'CertrollCriticalFindings',
      '2h',
      1,
      [
        ['certroll_audit_findings{severity="critical"}', 2],
        ['certroll_audit_findings{severity="warning"}', 9],
      ],
    ],
    ['CertrollAuditIncomplete', '30h', 1, [['certroll_audit_not_seen', 1]]],
    ['CertrollAuditOld', '60h', 1, [['certroll_audit_timestamp_seconds', 0]]],
    ['CertrollAuditOld', '40h', 0, [['certroll_audit_timestamp_seconds', 0]]],
  ] as const)('%s: at %s there are %i firing', async (alert, at, count, series) => {
    const given = series.map(([name, value]) => ({ series: name, values: `${value}x100` }));
    expect(await firing(given, at, alert, count)).toMatchObject({ exitCode: 0 });
    expect((await firing(given, at, alert, count + 1)).exitCode).not.toBe(0);
  });
});
