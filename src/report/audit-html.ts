import type { AuditReport, ClusterReport, FindingReport } from '../audit/report.js';
import { formatDuration } from '../core/duration.js';
import { printable } from '../core/text.js';
import { countFindings } from './audit-table.js';
import { shortKid } from './kids.js';

/** Text inside of an element or of an attribute in double quotes. */
const esc = (text: string): string =>
  printable(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

const DAY_MS = 86_400_000;

interface Expiry {
  readonly what: string;
  readonly where: readonly string[];
  readonly notAfter: string;
  readonly left: number;
}

/** Every certificate once, with all places it was seen at, the first to run out first. */
const expiries = ({ items, at }: ClusterReport): readonly Expiry[] => {
  const found = new Map<string, { what: string; where: Set<string>; notAfter: string }>();
  for (const { host, component, role, onDisk, served } of items) {
    for (const { sha256, subject, notAfter } of [...onDisk.certificates, ...(served?.certificates ?? [])]) {
      const each = found.get(sha256) ?? { what: subject, where: new Set<string>(), notAfter };
      each.where.add(`${component}@${host} ${role}`);
      found.set(sha256, each);
    }
  }
  return [...found.values()]
    .map(({ what, where, notAfter }) => ({
      ...{ what, where: [...where], notAfter },
      left: Date.parse(notAfter) - Date.parse(at),
    }))
    .sort((a, b) => a.left - b.left);
};

/** Left end of the line is today, right end two years from now: later is all the same. */
const SPAN_MS = 730 * DAY_MS;

const urgency = (left: number): 'critical' | 'warning' | 'fine' =>
  left < 0 ? 'critical' : left < 30 * DAY_MS ? 'warning' : 'fine';

const WORDS = { critical: 'expired', warning: 'soon', fine: '' } as const;

const places = (where: readonly string[]): string => {
  const [first = '', ...rest] = where;
  if (rest.length === 0) return esc(first);
  const list = where.map((each) => `<li>${esc(each)}</li>`).join('');
  return `<details><summary>${esc(first)} and ${rest.length} more</summary><ul>${list}</ul></details>`;
};

const timeline = (cluster: ClusterReport): string => {
  const rows = expiries(cluster).map(({ what, where, notAfter, left }) => {
    const kind = urgency(left);
    const width = Math.max(0.5, Math.min(100, (left / SPAN_MS) * 100)).toFixed(1);
    const word = left < 0 ? `expired ${formatDuration(-left)} ago` : `${formatDuration(left)} left`;
    return `<tr class="${kind}"><th scope="row">${esc(what)}</th><td>${places(where)}</td><td><time datetime="${esc(notAfter)}">${esc(notAfter.slice(0, 10))}</time></td><td class="life"><span class="bar" style="width:${width}%" aria-hidden="true"></span>${esc(word)}${WORDS[kind] === '' ? '' : ` <b>${WORDS[kind]}</b>`}</td></tr>`;
  });
  return table(
    'Expiries, the first to run out first; a full bar is two years or more',
    ['Certificate', 'Where', 'Until', 'Time left'],
    rows,
  );
};

/** A table that can be scrolled with the keyboard where it is wider than the screen. */
const table = (caption: string, head: readonly string[], rows: readonly string[]): string =>
  rows.length === 0
    ? ''
    : `<div class="wide" tabindex="0" role="region" aria-label="${esc(caption)}"><table><caption>${esc(caption)}</caption><thead><tr>${head
        .map((each) => `<th scope="col">${esc(each)}</th>`)
        .join('')}</tr></thead><tbody>${rows.join('\n')}</tbody></table></div>`;

const MARKS = { yes: '✔ yes', no: '✘ no', unknown: '? unknown' } as const;
type Mark = keyof typeof MARKS;

const markCell = (disk: Mark, loaded: Mark): string => {
  const kind =
    disk === 'no' || loaded === 'no' ? 'no' : disk === 'yes' && loaded === 'yes' ? 'yes' : 'unknown';
  const text = disk === loaded ? MARKS[disk] : `now: ${MARKS[loaded]}, on disk: ${MARKS[disk]}`;
  return `<td class="mark ${kind}">${text}</td>`;
};

const keyTable = ({ keys }: ClusterReport): string => {
  const hosts = [...new Set(keys.flatMap(({ apiservers }) => apiservers.map(({ host }) => host)))];
  const rows = keys.map(({ kid, signers, apiservers }) => {
    const cells = hosts.map((host) => {
      const found = apiservers.find((each) => each.host === host);
      return found ? markCell(found.disk, found.loaded) : '<td>-</td>';
    });
    return `<tr><th scope="row"><abbr title="${esc(kid)}">${esc(shortKid(kid))}</abbr></th><td>${esc(signers.join(', ') || 'nothing')}</td>${cells.join('')}</tr>`;
  });
  return table('Token keys: does the apiserver accept them', ['Key', 'Signs for', ...hosts], rows);
};

const authorityTable = ({ authorities }: ClusterReport): string => {
  const rows = authorities.flatMap(({ channel, name, presenters, verifiers }) =>
    verifiers.map(
      ({ process, named, disk, loaded }) =>
        `<tr><th scope="row">${esc(channel)}</th><td>${esc(name)}</td><td>${places(presenters)}</td><td>${esc(`${process} ${named}`)}</td>${markCell(disk, loaded)}</tr>`,
    ),
  );
  return table(
    'Authorities: who trusts what is shown',
    ['Channel', 'Authority', 'Shown by', 'Checked by', 'Trusted'],
    rows,
  );
};

const findingList = (findings: readonly FindingReport[]): string =>
  findings.length === 0
    ? '<p>No findings.</p>'
    : `<ul class="findings">${findings
        .map(
          ({ severity, rule, host, text, why, action }) =>
            `<li class="${severity}"><details${severity === 'critical' ? ' open' : ''}><summary><b>${severity}</b> ${host === undefined ? '' : `<span class="host">${esc(host)}</span> `}${esc(text)}</summary><dl><dt>Why</dt><dd>${esc(why)}</dd><dt>What to do</dt><dd>${esc(action)}</dd><dt>Rule</dt><dd><code>${esc(rule)}</code></dd></dl></details></li>`,
        )
        .join('\n')}</ul>`;

const inventory = ({ items }: ClusterReport): string =>
  table(
    'What the processes use',
    ['Host', 'Component', 'Role', 'File', 'On disk', 'Served', 'Loaded'],
    items.map(({ host, component, role, path, named, onDisk, served, loaded }) => {
      const [first] = onDisk.certificates;
      const [leaf] = served?.certificates ?? [];
      const isStale = loaded.state === 'stale';
      return `<tr><th scope="row">${esc(host)}</th><td>${esc(component)}</td><td>${esc(role)}</td><td><code>${esc(path)}</code> <small>${esc(named)}</small></td><td>${esc(first?.serial ?? onDisk.state)}</td><td>${esc(leaf?.serial ?? '-')}</td><td${isStale ? ' class="mark no"' : ''}>${isStale ? '✘ ' : ''}${esc(`${loaded.state} (${loaded.how})`)}</td></tr>`;
    }),
  );

const section = (cluster: ClusterReport, at: number): string => {
  const id = `c${at}`;
  return `<section aria-labelledby="${id}"><h2 id="${id}">${esc(cluster.name)}</h2>
<p>${cluster.hosts.length} hosts, ${cluster.items.length} files, ${esc(countFindings(cluster.findings))}. Seen <time datetime="${esc(cluster.at)}">${esc(cluster.at.replace(/\.\d+Z$/, 'Z'))}</time>.</p>
<h3>Findings</h3>
${findingList(cluster.findings)}
<h3>Timeline of expiries</h3>
${timeline(cluster) || '<p>No certificates were seen.</p>'}
<h3>Trust matrix</h3>
${keyTable(cluster) + authorityTable(cluster) || '<p>Nothing was seen that checks anything.</p>'}
<h3>Inventory</h3>
<details><summary>${cluster.items.length} files</summary>${inventory(cluster)}</details></section>`;
};

const STYLE = `
:root{color-scheme:light dark;--bg:#fff;--fg:#1a1d21;--soft:#5a6270;--line:#d5d9e0;--critical:#b3121d;--warning:#8a5a00;--fine:#1a7f4b}
@media(prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e6e9ee;--soft:#a3acba;--line:#3a414c;--critical:#ff8a8a;--warning:#f0b95a;--fine:#6fd39b}}
body{margin:0 auto;max-width:90rem;padding:1rem;background:var(--bg);color:var(--fg);font:1rem/1.5 system-ui,sans-serif}
a{color:inherit}.skip{position:absolute;left:-99rem}.skip:focus{position:static}
:focus-visible{outline:3px solid currentColor;outline-offset:2px}
.wide{overflow-x:auto;margin:1rem 0}table{border-collapse:collapse;width:100%;font-size:.9rem}
caption{text-align:left;color:var(--soft);padding:.25rem 0}th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
th[scope=row]{font-weight:600}.life{min-width:12rem}.bar{display:block;height:.5rem;border-radius:.25rem;background:var(--fine)}
.critical .bar{background:var(--critical)}.warning .bar{background:var(--warning)}
.findings{list-style:none;padding:0}.findings>li{border-left:.3rem solid var(--soft);padding:.3rem .7rem;margin:.5rem 0}
.findings>.critical{border-color:var(--critical)}.findings>.warning{border-color:var(--warning)}
.critical>details>summary>b,.mark.no,.life b{color:var(--critical)}.warning>details>summary>b,.mark.unknown{color:var(--warning)}.mark.yes{color:var(--fine)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:.5rem 0}dd{margin:0}summary{cursor:pointer}small{color:var(--soft)}
@media(max-width:40rem){dl{display:block}}
@media print{:root{--bg:#fff;--fg:#000;--soft:#333;--line:#999;--critical:#900;--warning:#640;--fine:#063}body{max-width:none;font-size:9pt}nav,.skip{display:none}details::details-content{display:block;content-visibility:visible;height:auto}tr,li{break-inside:avoid}.bar{print-color-adjust:exact}.wide{overflow:visible}}
`;

/** One self-contained page: no script, nothing loaded from elsewhere, and the policy in it says so to the browser. */
export const renderAuditHtml = (report: AuditReport): string => {
  const { clusters, at } = report;
  const findings = clusters.flatMap((each) => each.findings);
  const links = clusters.map(({ name }, index) => `<li><a href="#c${index}">${esc(name)}</a></li>`).join('');
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>certroll audit: ${esc(clusters.map(({ name }) => name).join(', '))}</title><style>${STYLE}</style></head>
<body><a class="skip" href="#main">To the findings</a>
<header><h1>Audit of keys and certificates</h1><p>${esc(countFindings(findings))} in ${clusters.length} cluster${clusters.length === 1 ? '' : 's'}, <time datetime="${esc(at)}">${esc(at.replace(/\.\d+Z$/, 'Z'))}</time>.</p>
${clusters.length > 1 ? `<nav aria-label="Clusters"><ul>${links}</ul></nav>` : ''}</header>
<main id="main">
${clusters.map(section).join('\n')}
</main></body></html>`;
};
