/** What a schedule of audits is made for. */
export interface Schedule {
  /** Names the units and files; lower-case letters, digits and dashes. */
  readonly name: string;
  /** A program and its first arguments that start certroll, absolute. */
  readonly program: readonly string[];
  /** Absolute: a cluster file, a folder of such, or a fleet file. */
  readonly cluster: string;
  readonly user: string;
  /** Absolute: the folder that node_exporter's textfile collector reads. */
  readonly metricsFolder: string;
  /** Whether TLS Secrets are looked at too. */
  readonly secrets?: boolean;
}

/** A word of ExecStart= (systemd.service(5), "Command lines"; specifiers are systemd.unit(5)). */
const unitWord = (word: string): string => {
  const escaped = word.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[A-Za-z0-9_@%+=:,./$-]+$/.test(escaped)
    ? escaped
    : `"${escaped.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
};

/** A path of a setting that is no command line: there a dollar is a dollar (systemd.exec(5)). */
const unitPath = (path: string): string => unitWord(path).replaceAll('$$', () => '$');

/** A word for the shell of cron, in whose lines a percent sign ends the command (crontab(5)). */
const cronWord = (word: string): string =>
  (/^[A-Za-z0-9_@+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`).replaceAll('%', '\\%');

const metricsFile = ({ metricsFolder, name }: Schedule): string => `${metricsFolder}/certroll-${name}.prom`;

const command = (schedule: Schedule): readonly string[] => [
  ...[...schedule.program, 'audit', '-c', schedule.cluster],
  ...(schedule.secrets === true ? ['--secrets'] : []),
  ...['--format', 'prometheus', '--output', metricsFile(schedule)],
];

/**
 * The service: it reads the cluster file, SSH's files and nothing else of its user, writes the metrics and nothing else. No
 * MemoryDenyWriteExecute: node compiles while it runs.
 */
const service = (schedule: Schedule): string => `[Unit]
Description=certroll audit of ${schedule.name}
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
User=${schedule.user}
ExecStart=${command(schedule).map(unitWord).join(' ')}
# Findings are in the metrics; they are no failure of the audit.
SuccessExitStatus=3
TimeoutStartSec=30min
Nice=10
UMask=0022
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ReadWritePaths=${unitPath(schedule.metricsFolder)}
ProtectHome=read-only
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RemoveIPC=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
`;

const timer = ({ name }: Schedule): string => `[Unit]
Description=certroll audit of ${name}, every six hours

[Timer]
OnCalendar=*-*-* 00/6:17:00
RandomizedDelaySec=15min
Persistent=yes

[Install]
WantedBy=timers.target
`;

interface Alert {
  readonly name: string;
  readonly expr: string;
  readonly for: string;
  readonly severity: 'warning' | 'critical';
  readonly summary: string;
  readonly description: string;
}

const PLACE = '{{ $labels.component }} on {{ $labels.host }} of {{ $labels.cluster }}';

const ALERTS: readonly Alert[] = [
  {
    name: 'CertrollCertificateExpiring',
    expr: 'certroll_certificate_not_after_timestamp_seconds - time() < 14 * 86400 > 0',
    ...{ for: '1h', severity: 'warning', summary: `A certificate of ${PLACE} expires soon` },
    description:
      '{{ $labels.subject }} in {{ $labels.path }} ({{ $labels.place }}) has {{ $value | humanizeDuration }} left.',
  },
  {
    name: 'CertrollCertificateExpired',
    expr: 'certroll_certificate_not_after_timestamp_seconds <= time()',
    ...{ for: '0m', severity: 'critical', summary: `A certificate of ${PLACE} has expired` },
    description: '{{ $labels.subject }} in {{ $labels.path }} ({{ $labels.place }}).',
  },
  {
    name: 'CertrollStaleInMemory',
    expr: 'certroll_file_stale_in_memory == 1',
    ...{ for: '1d', severity: 'warning', summary: `${PLACE} has not loaded what lies on disk` },
    description:
      'The {{ $labels.role }} in {{ $labels.path }} changed and has not taken effect: a restart changes what the process does.',
  },
  {
    name: 'CertrollCriticalFindings',
    expr: 'certroll_audit_findings{severity="critical"} > 0',
    ...{
      for: '1h',
      severity: 'critical',
      summary: 'An audit of {{ $labels.cluster }} has critical findings',
    },
    description: '{{ $value }} of them. certroll audit says what they are and what to do.',
  },
  {
    name: 'CertrollWarningFindings',
    expr: 'certroll_audit_findings{severity="warning"} > 0',
    ...{
      for: '1d',
      severity: 'warning',
      summary: 'Audits of {{ $labels.cluster }} have had warnings for a day',
    },
    description: '{{ $value }} of them. certroll audit says what they are and what to do.',
  },
  {
    name: 'CertrollAuditMissing',
    expr: 'absent(certroll_audit_timestamp_seconds)',
    ...{ for: '1d', severity: 'warning', summary: 'There is no audit of any cluster' },
    description:
      'No metrics of certroll have come for a day: see whether the timer runs and the collector reads its folder.',
  },
  {
    name: 'CertrollAuditIncomplete',
    expr: 'certroll_audit_not_seen > 0',
    ...{
      for: '1d',
      severity: 'warning',
      summary: 'An audit of {{ $labels.cluster }} could not see everything',
    },
    description: '{{ $value }} hosts or apiservers could not be looked at.',
  },
  {
    name: 'CertrollAuditOld',
    expr: 'time() - certroll_audit_timestamp_seconds > 2 * 86400',
    ...{ for: '1h', severity: 'warning', summary: '{{ $labels.cluster }} has not been audited for two days' },
    description:
      'systemctl list-timers says whether the timer runs; the journal of the service why it fails.',
  },
];

// JSON strings are YAML strings.
const alerts = (): string =>
  [
    'groups:',
    '  - name: certroll',
    '    rules:',
    ...ALERTS.flatMap((alert) => [
      `      - alert: ${alert.name}`,
      `        expr: ${JSON.stringify(alert.expr)}`,
      `        for: ${alert.for}`,
      `        labels: { severity: ${alert.severity} }`,
      '        annotations:',
      `          summary: ${JSON.stringify(alert.summary)}`,
      `          description: ${JSON.stringify(alert.description)}`,
    ]),
    '',
  ].join('\n');

/** The files that run an audit every six hours and alert on what it finds, by name. Pure. */
export const scheduleFiles = (schedule: Schedule): ReadonlyMap<string, string> => {
  const unit = `certroll-audit-${schedule.name}`;
  return new Map([
    [`${unit}.service`, service(schedule)],
    [`${unit}.timer`, timer(schedule)],
    ['certroll-alerts.yaml', alerts()],
    [
      `${unit}-cron`,
      `# Where there is no systemd: a file of /etc/cron.d, which passes over names with a dot. Exit 3 is findings, which are in the metrics.\n17 */6 * * *  ${schedule.user}  umask 022; ${command(schedule).map(cronWord).join(' ')} || [ $? -eq 3 ]\n`,
    ],
  ]);
};
