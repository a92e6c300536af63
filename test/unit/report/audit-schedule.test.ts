import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { renderAuditPrometheus } from '../../../src/report/audit-prometheus.js';
import { scheduleFiles } from '../../../src/report/audit-schedule.js';

const files = scheduleFiles({
  ...{ name: 'prod', program: ['/usr/bin/node', '/opt/50% off/certroll.js'], user: 'certroll' },
  ...{ cluster: '/etc/it\'s/"$x"/prod.yaml', metricsFolder: '/var/lib/m' },
});

describe('a schedule of audits', () => {
  it('escapes what systemd and cron would take for something else', () => {
    const service = files.get('certroll-audit-prod.service') ?? '';
    expect(service).toContain(
      `ExecStart=/usr/bin/node "/opt/50%% off/certroll.js" audit -c "/etc/it's/\\"$$x\\"/prod.yaml" --format prometheus --output /var/lib/m/certroll-prod.prom\n`,
    );
    const cron = files.get('certroll-audit-prod-cron') ?? '';
    expect(cron).toContain(
      `certroll  umask 022; /usr/bin/node '/opt/50\\% off/certroll.js' audit -c '/etc/it'\\''s/"$x"/prod.yaml' --format`,
    );
  });

  it('names a path of a setting as it is, and one of a command line by its rules', () => {
    const odd = scheduleFiles({
      ...{ name: 'p', program: ['/x'], user: 'u', cluster: '/c', metricsFolder: '/var/a $b%c' },
    }).get('certroll-audit-p.service');
    expect(odd).toContain('ReadWritePaths="/var/a $b%%c"\n');
    expect(odd).toContain('--output "/var/a $$b%%c/certroll-p.prom"\n');
  });

  it('lets the service write the metrics and nothing else, and takes findings for success', () => {
    const service = files.get('certroll-audit-prod.service') ?? '';
    for (const line of [
      'ProtectSystem=strict',
      'NoNewPrivileges=yes',
      'SuccessExitStatus=3',
      'ReadWritePaths=/var/lib/m',
    ])
      expect(service.split('\n')).toContain(line);
    expect(service).not.toContain('MemoryDenyWriteExecute');
    expect(files.get('certroll-audit-prod.timer')).toContain('Persistent=yes');
  });

  it('alerts on metrics that there are, with labels that they have', () => {
    const { groups } = parse(files.get('certroll-alerts.yaml') ?? '') as {
      groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[];
    };
    const metrics = renderAuditPrometheus({ version: 1, at: '', clusters: [] });
    const rules = groups.flatMap((group) => group.rules);
    expect(rules.length).toBeGreaterThan(4);
    for (const { expr, annotations } of rules) {
      for (const [name] of expr.matchAll(/certroll_\w+/g)) expect(metrics).toContain(`# TYPE ${name} gauge`);
      for (const [, label] of Object.values(annotations)
        .join(' ')
        .matchAll(/\$labels\.(\w+)/g))
        expect(['cluster', 'host', 'component', 'path', 'place', 'subject', 'role']).toContain(label);
    }
  });
});
