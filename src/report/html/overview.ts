import type { ClusterReport } from '../../audit/report.js';
import { chip, URGENCY } from './findings.js';
import { day, markup, table, type Markup } from './markup.js';
import { expiries } from './timeline.js';

const row = (cluster: ClusterReport, at: number): Markup => {
  const counts = URGENCY.map((severity) => {
    const count = cluster.findings.filter((each) => each.severity === severity).length;
    return markup`<td class="number">${count > 0 ? chip(severity, String(count)) : '-'}</td>`;
  });
  const [next] = expiries(cluster);
  return markup`<tr><th scope="row"><a href="#c${at}">${cluster.name}</a></th>${counts}<td>${next ? day(next.notAfter) : '-'}</td><td class="number">${cluster.hosts.length}</td><td class="number">${cluster.items.length}</td></tr>`;
};

/** Of several clusters a line each, which leads to its part of the page. */
export const overview = (clusters: readonly ClusterReport[]): Markup =>
  clusters.length < 2
    ? markup``
    : markup`<nav aria-label="Clusters">${table({
        id: 'overview',
        caption: 'Clusters, and what was found of each',
        head: ['Cluster', 'Critical', 'Warning', 'Info', 'First expiry', 'Hosts', 'Files'],
        rows: clusters.map(row),
      })}</nav>`;
