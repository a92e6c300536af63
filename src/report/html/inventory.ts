import type { ClusterReport, ItemReport } from '../../audit/report.js';
import { groupBy } from '../../core/group.js';
import { shortKid } from '../kids.js';
import { counted, markup, name, table, type Markup } from './markup.js';

/** Of a file its certificate, else its key, else that it is there. */
const diskCell = ({ onDisk }: ItemReport): Markup => {
  const { state, certificates, kids } = onDisk;
  if (state === 'absent' || state === 'unreadable') return markup`<td class="mark no">✘ ${state}</td>`;
  const more = (count: number): string => (count > 1 ? ` and ${count - 1} more` : '');
  const [certificate] = certificates;
  if (certificate)
    return markup`<td>until ${certificate.notAfter.slice(0, 10)} <small>serial ${certificate.serial}${more(certificates.length)}</small></td>`;
  const [kid] = kids;
  return kid === undefined
    ? markup`<td>${state}</td>`
    : markup`<td><small>key</small> <code>${shortKid(kid)}</code><small>${more(kids.length)}</small></td>`;
};

const servedCell = ({ served }: ItemReport): Markup => {
  const [leaf] = served?.certificates ?? [];
  if (!served || !leaf) return markup`<td>${served ? 'nothing' : '-'}</td>`;
  return markup`<td>until ${leaf.notAfter.slice(0, 10)} <small>serial ${leaf.serial} at ${name(served.address)}</small></td>`;
};

const LOADED = { same: '✔ as on disk', stale: '✘ STALE', unknown: '? unknown' } as const;
const KINDS = { same: 'yes', stale: 'no', unknown: 'unknown' } as const;

const loadedCell = ({ loaded: { state, how } }: ItemReport): Markup =>
  markup`<td class="mark ${KINDS[state]}">${LOADED[state]} <small>${how}</small></td>`;

const row = (item: ItemReport): Markup =>
  markup`<tr><th scope="row">${item.component}</th><td>${item.role}</td><td><code>${name(item.path)}</code> <small>${item.named}</small></td>${diskCell(item)}${servedCell(item)}${loadedCell(item)}</tr>`;

/** What is worth a look at a host, so that it is found without opening each. */
const oddities = (items: readonly ItemReport[]): Markup => {
  const odd = { stale: 0, absent: 0, unreadable: 0 };
  for (const { onDisk, loaded } of items) {
    if (loaded.state === 'stale') odd.stale += 1;
    if (onDisk.state === 'absent' || onDisk.state === 'unreadable') odd[onDisk.state] += 1;
  }
  const told = Object.entries(odd).filter(([, count]) => count > 0);
  return markup`${told.map(([what, count]) => markup` <b class="mark no">✘ ${count} ${what}</b>`)}`;
};

/**
 * Every file that a process uses, host by host. Closed at first: it is for looking things up, and a browser takes
 * seconds to lay out the ten thousand files of a large cluster at once.
 */
export const inventory = ({ items }: ClusterReport, id: string): Markup => {
  if (items.length === 0) return markup`<p>No files were seen.</p>`;
  const hosts = groupBy(items, ({ host }) => host).map((same, at) => {
    const host = same[0]?.host ?? '';
    return markup`<details><summary>${name(host)} <small>${counted(same.length, 'file')}</small>${oddities(same)}</summary>${table(
      {
        id: `${id}-${at}`,
        caption: `What the processes of ${host} use`,
        head: ['Component', 'Role', 'File', 'On disk', 'Served', 'Loaded'],
        rows: same.map(row),
      },
    )}</details>\n`;
  });
  return markup`<details class="inventory"><summary>${counted(items.length, 'file')} of ${counted(hosts.length, 'host')}</summary>${hosts}</details>`;
};
