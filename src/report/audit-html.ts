import { createHash } from 'node:crypto';
import type { AuditReport, ClusterReport } from '../audit/report.js';
import { countFindings } from './audit-table.js';
import { findingList } from './html/findings.js';
import { inventory } from './html/inventory.js';
import { counted, markup, moment, type Markup } from './html/markup.js';
import { overview } from './html/overview.js';
import { STYLE } from './html/style.js';
import { timeline } from './html/timeline.js';
import { trustMatrix } from './html/trust.js';

const section = (cluster: ClusterReport, at: number): Markup => {
  const id = `c${at}`;
  const { name, hosts, items, findings } = cluster;
  return markup`<section aria-labelledby="${id}"><h2 id="${id}">${name}</h2>
<p class="seen">${counted(hosts.length, 'host')}, ${counted(items.length, 'file')}; ${countFindings(findings)}. Seen ${moment(cluster.at)}.</p>
<h3>Findings</h3>
${findingList(findings)}
<h3>Timeline of expiries</h3>
${timeline(cluster, `${id}-timeline`)}
<h3>Trust matrix</h3>
${trustMatrix(cluster, `${id}-trust`)}
<h3>Inventory</h3>
${inventory(cluster, `${id}-inventory`)}
</section>
`;
};

/** Nothing may be loaded or run, and no style but the page's own counts, whoever gets something into it. */
const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(String(STYLE)).digest('base64')}'; base-uri 'none'; form-action 'none'`;

/** One self-contained page: no script, nothing loaded from elsewhere, and the policy in it says so to the browser. */
export const renderAuditHtml = ({ clusters, at }: AuditReport): string => {
  const findings = clusters.flatMap((each) => each.findings);
  const names = clusters.map(({ name }) => name).join(', ');
  return String(markup`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<title>certroll audit: ${names}</title><style>${STYLE}</style></head>
<body><a class="skip" href="#main">To the findings</a>
<header><h1>Audit of keys and certificates</h1>
<p class="seen">${countFindings(findings)} in ${counted(clusters.length, 'cluster')}, ${moment(at)}.</p>
${overview(clusters)}</header>
<main id="main" tabindex="-1">
${clusters.map(section)}</main></body></html>`);
};
