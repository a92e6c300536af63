import type { CertificateReport, ClusterReport } from '../../audit/report.js';
import { formatDuration } from '../../core/duration.js';
import { day, markup, name, places, table, type Markup } from './markup.js';

const DAY_MS = 86_400_000;

interface Expiry {
  readonly what: string;
  readonly where: readonly string[];
  readonly notAfter: string;
  readonly left: number;
}

/** Every certificate once, with all places it was seen at, the first to run out first. */
export const expiries = ({ items, objects, at }: ClusterReport): readonly Expiry[] => {
  const found = new Map<string, { what: string; where: Set<string>; notAfter: string }>();
  const add = (certificates: readonly CertificateReport[], where: string): void => {
    for (const { sha256, subject, notAfter } of certificates) {
      const each = found.get(sha256) ?? { what: subject, where: new Set<string>(), notAfter };
      each.where.add(where);
      found.set(sha256, each);
    }
  };
  for (const { host, component, role, onDisk, served } of items)
    add([...onDisk.certificates, ...(served?.certificates ?? [])], `${component}@${host} ${role}`);
  for (const { kind, namespace = '', name: object, certificates } of objects)
    if (kind === 'Secret') add(certificates, `Secret ${namespace}/${object}`);
  return [...found.values()]
    .map(({ what, where, notAfter }) => ({
      ...{ what, where: [...where], notAfter },
      left: Date.parse(notAfter) - Date.parse(at),
    }))
    .sort((a, b) => a.left - b.left);
};

/** Left end of the line is now, right end two years from now: later is all the same. */
const SPAN_MS = 730 * DAY_MS;

const AXIS = markup`<span class="axis"><span>now</span> <span class="half">6 months</span> <span>1 year</span> <span class="half">18 months</span> <span>2 years</span></span>`;

type Urgency = 'critical' | 'warning' | 'fine';

const urgencyIn =
  ({ renewBeforeMs }: ClusterReport) =>
  ({ left }: Expiry): Urgency =>
    left < 0 ? 'critical' : left < renewBeforeMs ? 'warning' : 'fine';

/** Never by colour alone. */
const leftOf = (left: number, urgency: Urgency): Markup => {
  if (left < 0) return markup`<b>✘ expired ${formatDuration(-left)} ago</b>`;
  return urgency === 'warning'
    ? markup`<b>soon: ${formatDuration(left)}</b>`
    : markup`${formatDuration(left)}`;
};

/** The line is a drawing, not a background: printers leave backgrounds out. */
const row = ({ what, where, notAfter, left }: Expiry, urgency: Urgency): Markup => {
  const width = Math.max(0.4, Math.min(100, (left / SPAN_MS) * 100)).toFixed(1);
  return markup`<tr class="${urgency}"><th scope="row">${name(what)}</th><td class="left">${leftOf(left, urgency)} <small>${day(notAfter)}</small></td><td class="life"><svg aria-hidden="true"><rect width="${width}%" height="100%"/></svg></td><td>${places(where)}</td></tr>`;
};

/** Rows that are always shown; who looks for the others knows what for. */
const SHOWN = 20;

/** When each certificate runs out, the next at the top. */
export const timeline = (cluster: ClusterReport, id: string): Markup => {
  const all = expiries(cluster);
  if (all.length === 0) return markup`<p>No certificates were seen.</p>`;
  const urgencyOf = urgencyIn(cluster);
  const rows = (some: readonly Expiry[]): readonly Markup[] => some.map((each) => row(each, urgencyOf(each)));
  const urgent = all.filter((each) => urgencyOf(each) !== 'fine').length;
  // A table for one or two rows more is not worth a click.
  const shown = Math.max(urgent, all.length <= SHOWN + 5 ? all.length : SHOWN);
  const head = ['Certificate', 'Time left', AXIS, 'Where'];
  const [first, rest] = [all.slice(0, shown), all.slice(shown)];
  const [next] = rest;
  return markup`${table({
    id,
    caption: 'The first to run out first. A full bar is two years or more.',
    head,
    rows: rows(first),
  })}${
    next &&
    markup`<details><summary>${rest.length} more, from ${day(next.notAfter)} on</summary>${table({
      ...{ id: `${id}-later`, head, rows: rows(rest) },
      caption: 'Those that run out later.',
    })}</details>`
  }`;
};
