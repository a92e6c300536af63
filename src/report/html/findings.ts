import type { FindingReport } from '../../audit/report.js';
import { groupBy } from '../../core/group.js';
import { counted, markup, name, type Markup } from './markup.js';

/** The most urgent first: what is read first is what must be done first. */
export const URGENCY = ['critical', 'warning', 'info'] as const;

/** More places than this would push the next finding off the screen. */
const MANY = 12;

/** A severity as a word that also has a colour. */
export const chip = (severity: FindingReport['severity'], text: string = severity): Markup =>
  markup`<b class="chip ${severity}">${text}</b>`;

const placeOf = ({ host, text }: FindingReport): Markup =>
  markup`${host === undefined ? undefined : markup`<span class="host">${name(host)}</span> `}${text}`;

/** What one rule found: reason and remedy once, however many places it is so at. */
const group = (same: readonly FindingReport[]): Markup => {
  const [first] = same;
  if (!first) return markup``;
  const { severity, rule, why, action } = first;
  const isOpen = severity === 'critical' && same.length <= MANY;
  const title = same.length === 1 ? placeOf(first) : markup`<small>${counted(same.length, 'place')}</small>`;
  const list =
    same.length === 1 ? undefined : markup`<ul>${same.map((each) => markup`<li>${placeOf(each)}</li>`)}</ul>`;
  return markup`<li class="${severity}"><details${isOpen ? markup` open` : undefined}><summary>${chip(severity)} <b>${rule}</b> ${title}</summary>
<dl><dt>Why</dt><dd>${why}</dd><dt>What to do</dt><dd>${action}</dd></dl>${list}</details></li>\n`;
};

/** Findings by urgency, then by rule. */
export const findingList = (findings: readonly FindingReport[]): Markup => {
  if (findings.length === 0) return markup`<p>No findings.</p>`;
  const groups = URGENCY.flatMap((severity) =>
    groupBy(
      findings.filter((each) => each.severity === severity),
      ({ rule, why, action }) => `${rule}\n${why}\n${action}`,
    ),
  );
  return markup`<ul class="findings">${groups.map(group)}</ul>`;
};
