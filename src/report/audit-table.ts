import { Chalk } from 'chalk';
import type { AuditReport, ClusterReport, FindingReport, ItemReport } from '../audit/report.js';
import { formatDuration } from '../core/duration.js';
import { groupBy } from '../core/group.js';
import { printable } from '../core/text.js';
import { shortKid } from './kids.js';
import type { MatrixStyle } from './matrix.js';
import { shortNames, shortProcess } from './names.js';
import { renderTable } from './table.js';

export interface AuditStyle extends MatrixStyle {
  /** Columns of the terminal; Infinity in a pipe. */
  readonly width: number;
}

type Names = ReadonlyMap<string, string>;

/** The end of a certificate's life from now, for people. */
const left = (notAfter: string, at: string): string => {
  const ms = Date.parse(notAfter) - Date.parse(at);
  return ms < 0 ? `expired ${formatDuration(-ms)} ago` : formatDuration(ms);
};

/** Of several certificates in a file the first that runs out; of a pair its leaf. */
const soonest = ({ kind, onDisk }: ItemReport): string | undefined => {
  const { certificates } = onDisk;
  const dates = certificates.map(({ notAfter }) => notAfter);
  return kind === 'certificate' ? dates[0] : dates.sort()[0];
};

const diskCell = (item: ItemReport, at: string): string => {
  const { state, certificates, kids } = item.onDisk;
  if (state === 'absent' || state === 'unreadable') return state.toUpperCase();
  const date = soonest(item);
  if (date !== undefined)
    return `${left(date, at)}${certificates.length > 1 ? ` (${certificates.length})` : ''}`;
  const [kid] = kids;
  return kid === undefined
    ? state
    : `${shortKid(kid)}${kids.length > 1 ? ` and ${kids.length - 1} more` : ''}`;
};

const servedCell = ({ served }: ItemReport, at: string): string => {
  if (!served) return '-';
  const [leaf] = served.certificates;
  return leaf ? left(leaf.notAfter, at) : 'nothing';
};

const LOADED = { same: 'as on disk', stale: 'STALE', unknown: '?' } as const;

/** Keys are shown where they say something that their certificates do not. */
const isShown = ({ kind, onDisk }: ItemReport): boolean =>
  !['key', 'other', 'kubeconfig'].includes(kind) ||
  onDisk.state === 'absent' ||
  onDisk.state === 'unreadable';

/** Many hosts with the same story are one row each; the table is for looking things up. */
const inventory = ({ items, at }: ClusterReport, names: Names, style: AuditStyle): string => {
  const rows = items.filter(isShown).map((item) => ({
    host: names.get(item.host) ?? item.host,
    component: item.component.replace('kube-', ''),
    role: item.role,
    path: item.path,
    disk: diskCell(item, at),
    served: servedCell(item, at),
    loaded: LOADED[item.loaded.state],
  }));
  if (rows.length === 0) return '';
  if (style.width >= 100)
    return renderTable(
      [
        ['HOST', 'COMPONENT', 'ROLE', 'ON DISK', 'SERVED', 'LOADED', 'FILE'],
        ...rows.map((row) => [row.host, row.component, row.role, row.disk, row.served, row.loaded, row.path]),
      ],
      style.width,
    );
  // Too narrow for a row each: the file on a line of its own.
  return rows
    .map(
      (row) =>
        `${row.host} ${row.component} ${row.role}\n  ${row.path}\n  on disk ${row.disk}, served ${row.served}, loaded ${row.loaded}`,
    )
    .join('\n');
};

const MARK = { yes: 'yes', no: 'NO', unknown: '?' } as const;

const cell = (disk: keyof typeof MARK, loaded: keyof typeof MARK): string =>
  disk === loaded ? MARK[disk] : `${MARK[loaded]} (disk: ${MARK[disk]})`;

const keyTable = ({ keys }: ClusterReport, names: Names, { width }: AuditStyle): string => {
  if (keys.length === 0) return '';
  const hosts = [...new Set(keys.flatMap(({ apiservers }) => apiservers.map(({ host }) => host)))];
  return renderTable(
    [
      ['KID', ...hosts.map((host) => names.get(host) ?? host), 'SIGNS FOR'],
      ...keys.map(({ kid, signers, apiservers }) => [
        shortKid(kid),
        ...hosts.map((host) => {
          const found = apiservers.find((each) => each.host === host);
          return found ? cell(found.disk, found.loaded) : '-';
        }),
        signers.map((id) => shortProcess(id, names)).join(', ') || '-',
      ]),
    ],
    width,
  );
};

const some = (list: readonly string[]): string =>
  list.length > 4 ? `${list.slice(0, 4).join(', ')} and ${list.length - 4} more` : list.join(', ') || '-';

const authorityTable = ({ authorities }: ClusterReport, names: Names, { width }: AuditStyle): string => {
  if (authorities.length === 0) return '';
  return renderTable(
    [
      ['CHANNEL', 'AUTHORITY', 'SHOWN BY', 'TRUSTED BY', 'NOT TRUSTED BY', 'NOT KNOWN'],
      ...authorities.map(({ channel, name, kid, presenters, verifiers }) => {
        const who = (test: (each: (typeof verifiers)[number]) => boolean): string =>
          some([...new Set(verifiers.filter(test).map(({ process }) => shortProcess(process, names)))]);
        return [
          channel,
          kid === undefined ? name : `${name} ${shortKid(kid)}`,
          some(presenters.map((id) => shortProcess(id, names))),
          who(({ disk, loaded }) => disk === 'yes' && loaded === 'yes'),
          who(({ disk, loaded }) => disk === 'no' || loaded === 'no'),
          who(({ disk, loaded }) => disk === 'yes' && loaded === 'unknown'),
        ];
      }),
    ],
    width,
  );
};

const findingLines = (
  findings: readonly FindingReport[],
  names: Names,
  chalk: InstanceType<typeof Chalk>,
  width: number,
): string => {
  const color = { critical: chalk.red, warning: chalk.yellow, info: chalk.dim };
  return groupBy(findings, ({ rule, severity }) => `${severity} ${rule}`)
    .map((same) => {
      const [first] = same;
      if (!first) return '';
      const rows = same.map(({ host, text }) => [
        '',
        host === undefined ? '-' : (names.get(host) ?? host),
        text,
      ]);
      return [
        `${color[first.severity](first.severity.toUpperCase())} ${chalk.bold(first.rule)}`,
        renderTable(rows, width),
        `  why: ${first.why}`,
        `  do:  ${first.action}`,
      ].join('\n');
    })
    .join('\n\n');
};

/** `2 critical, 1 warning, 0 info` */
export const countFindings = (findings: readonly Pick<FindingReport, 'severity'>[]): string => {
  const count = (severity: FindingReport['severity']): number =>
    findings.filter((each) => each.severity === severity).length;
  const warnings = count('warning');
  return `${count('critical')} critical, ${warnings} warning${warnings === 1 ? '' : 's'}, ${count('info')} info`;
};

const renderCluster = (cluster: ClusterReport, style: AuditStyle): string => {
  const chalk = new Chalk({ level: style.color ? 1 : 0 });
  const names = shortNames(cluster.hosts.map(({ name }) => name));
  const part = (title: string, text: string): readonly string[] =>
    text === '' ? [] : [`${chalk.bold(title)}\n${text}`];
  return [
    ...part(
      `${cluster.name}: what the processes use (ON DISK and SERVED: time left; in brackets: certificates in the file)`,
      inventory(cluster, names, style),
    ),
    ...part('Token keys: does the apiserver accept them, as it runs', keyTable(cluster, names, style)),
    ...part('Authorities: who trusts what is shown', authorityTable(cluster, names, style)),
    ...part('Findings', findingLines(cluster.findings, names, chalk, style.width)),
    `${cluster.name}: ${cluster.hosts.length} hosts, ${cluster.items.length} files, ${countFindings(cluster.findings)}.`,
  ].join('\n\n');
};

/** Without what would move the cursor, hide text or colour it, whoever wrote it into a certificate or an object. */
const plain = (cluster: ClusterReport): ClusterReport =>
  JSON.parse(JSON.stringify(cluster), (_key, value: unknown) =>
    typeof value === 'string' ? printable(value) : value,
  ) as ClusterReport;

/** An audit as text: what is used, who trusts whom, what is wrong. On a narrow terminal without columns for files. */
export const renderAuditTable = ({ clusters }: AuditReport, style: AuditStyle): string =>
  clusters.map((each) => renderCluster(plain(each), style)).join('\n\n\n');
