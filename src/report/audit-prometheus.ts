import type { AuditReport, CertificateReport, ClusterReport, ItemReport } from '../audit/report.js';
import { groupBy } from '../core/group.js';

/** In the order they are told. */
const SEVERITIES = ['critical', 'warning', 'info'] as const;

type Labels = Readonly<Record<string, string>>;

interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

interface Metric {
  readonly name: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** As the text format wants it: backslash, quote and line end escaped. */
const escape = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');

const labelText = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${escape(value)}"`)
    .join(',');

/** One series is told once: several processes may use one file in one role. */
const metricText = ({ name, help, samples }: Metric): string => {
  const series = new Map(samples.map(({ labels, value }) => [labelText(labels), value]));
  const lines = [...series].map(([labels, value]) => `${name}${labels === '' ? '' : `{${labels}}`} ${value}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} gauge`, ...lines, ''].join('\n');
};

const seconds = (iso: string): number => Date.parse(iso) / 1000;

const certificatesOf = (
  { name: cluster, items }: ClusterReport,
  value: (certificate: CertificateReport) => number,
): readonly Sample[] =>
  items.flatMap((item) => {
    const sample = (certificate: CertificateReport, place: 'disk' | 'served'): Sample => ({
      labels: {
        ...{ cluster, host: item.host, component: item.component, role: item.role, path: item.path, place },
        ...{ subject: certificate.subject, serial: certificate.serial },
      },
      value: value(certificate),
    });
    return [
      ...item.onDisk.certificates.map((each) => sample(each, 'disk')),
      ...(item.served?.certificates.slice(0, 1) ?? []).map((each) => sample(each, 'served')),
    ];
  });

const LOADED: Readonly<Record<ItemReport['loaded']['state'], number | undefined>> = {
  same: 0,
  stale: 1,
  unknown: undefined,
};

/** Metric names by Prometheus' conventions: base units in the name, a timestamp is `_timestamp_seconds`. */
const metricsOf = ({ clusters }: AuditReport): readonly Metric[] => {
  const all = (samples: (cluster: ClusterReport) => readonly Sample[]): readonly Sample[] =>
    clusters.flatMap(samples);
  return [
    {
      name: 'certroll_audit_timestamp_seconds',
      help: 'When the cluster was last audited.',
      samples: all(({ name, at }) => [{ labels: { cluster: name }, value: seconds(at) }]),
    },
    {
      name: 'certroll_audit_findings',
      help: 'Findings of the last audit, by severity; a severity without any is 0.',
      samples: all(({ name, findings }) =>
        SEVERITIES.map((severity) => ({
          labels: { cluster: name, severity },
          value: findings.filter((each) => each.severity === severity).length,
        })),
      ),
    },
    {
      name: 'certroll_audit_rule_findings',
      help: 'Findings of the last audit, by rule; none where a rule found nothing.',
      samples: all(({ name, findings }) =>
        groupBy(findings, ({ rule, severity }) => `${severity} ${rule}`).flatMap((same) => {
          const [first] = same;
          const labels = { cluster: name, severity: first?.severity ?? '', rule: first?.rule ?? '' };
          return [{ labels, value: same.length }];
        }),
      ),
    },
    {
      name: 'certroll_audit_not_seen',
      help: 'Hosts and apiservers that could not be looked at.',
      samples: all(({ name, notSeen }) => [{ labels: { cluster: name }, value: notSeen.length }]),
    },
    {
      name: 'certroll_host_clock_offset_seconds',
      help: "The host's clock minus the bastion's.",
      samples: all(({ name, hosts }) =>
        hosts.map((host) => ({
          labels: { cluster: name, host: host.name },
          value: host.clockOffsetMs / 1000,
        })),
      ),
    },
    {
      name: 'certroll_process_start_timestamp_seconds',
      help: 'When a process that was audited started.',
      samples: all(({ name, hosts }) =>
        hosts.flatMap((host) =>
          host.processes.map(({ component, startedAt }) => ({
            labels: { cluster: name, host: host.name, component },
            value: seconds(startedAt),
          })),
        ),
      ),
    },
    {
      name: 'certroll_certificate_not_before_timestamp_seconds',
      help: 'From when on a certificate is valid, on disk and as it is served.',
      samples: all((each) => certificatesOf(each, ({ notBefore }) => seconds(notBefore))),
    },
    {
      name: 'certroll_certificate_not_after_timestamp_seconds',
      help: 'Until when a certificate is valid, on disk and as it is served.',
      samples: all((each) => certificatesOf(each, ({ notAfter }) => seconds(notAfter))),
    },
    {
      name: 'certroll_tls_secret_not_after_timestamp_seconds',
      help: 'Until when a certificate in a TLS Secret is valid; none where Secrets were not asked for.',
      samples: all(({ name: cluster, objects }) =>
        objects
          .filter(({ kind }) => kind === 'Secret')
          .flatMap(({ namespace = '', name, certificates }) =>
            certificates.map(({ subject, serial, notAfter }) => ({
              labels: { cluster, namespace, name, subject, serial },
              value: seconds(notAfter),
            })),
          ),
      ),
    },
    {
      name: 'certroll_file_stale_in_memory',
      help: '1 when the process has loaded something else than the file holds; none where that is not known.',
      samples: all(({ name: cluster, items }) =>
        items.flatMap(({ host, component, role, path, loaded }) => {
          const value = LOADED[loaded.state];
          return value === undefined ? [] : [{ labels: { cluster, host, component, role, path }, value }];
        }),
      ),
    },
  ];
};

/** For the textfile collector of node_exporter. */
export const renderAuditPrometheus = (report: AuditReport): string =>
  metricsOf(report).map(metricText).join('');
