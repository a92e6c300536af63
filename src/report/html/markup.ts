import { printable } from '../../core/text.js';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A piece of a page. Only `markup` makes one, so that what hosts say cannot get into a page unescaped. */
class Markup {
  constructor(private readonly text: string) {}

  toString(): string {
    return this.text;
  }
}
export type { Markup };

type Value = string | number | Markup | undefined | readonly Value[];

const written = (value: Value): string => {
  if (value === undefined) return '';
  if (value instanceof Markup) return value.toString();
  if (typeof value === 'object') return value.map(written).join('');
  return printable(String(value)).replaceAll(/[&<>"']/g, (mark) => ENTITIES[mark] ?? '');
};

/** Template of a piece: texts are escaped, for an element and for an attribute in double quotes; pieces are put in. */
export const markup = (parts: TemplateStringsArray, ...values: readonly Value[]): Markup =>
  new Markup(parts.map((part, at) => part + (at < values.length ? written(values[at]) : '')).join(''));

/** A name that is broken, where it must be, after the marks between its parts. */
export const name = (text: string): Markup =>
  markup`${text.split(/(?<=[.@/:=#])(?=[^./:])/).map((part, at) => markup`${at > 0 ? BREAK : undefined}${part}`)}`;

/** `1 host`, `2 hosts` */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

const BREAK = markup`<wbr>`;

/** A moment, to the second for people and in full for programs. */
export const moment = (at: string): Markup =>
  markup`<time datetime="${at}">${at
    .replace('T', ' ')
    .replace(/(:\d\d)\.\d+Z$/, '$1Z')
    .replace('Z', ' UTC')}</time>`;

/** The day of a moment. */
export const day = (at: string): Markup => markup`<time datetime="${at}">${at.slice(0, 10)}</time>`;

/** All of a list, of which the first stands for the rest until it is opened. */
export const places = (list: readonly string[]): Markup => {
  const [first = '-', ...rest] = list;
  if (rest.length === 0) return name(first);
  const items = list.map((each) => markup`<li>${name(each)}</li>`);
  return markup`<details class="places"><summary>${name(first)} <small>and ${rest.length} more</small></summary><ul>${items}</ul></details>`;
};

interface Table {
  /** Unlike any other of the page: by its caption the region is known that the keyboard scrolls. */
  readonly id: string;
  /** Stays where it is while the table scrolls. */
  readonly caption: string;
  readonly head: readonly (string | Markup)[];
  /** Rows, each a `<tr>`. */
  readonly rows: readonly Markup[];
}

/** A table in a region that scrolls by itself, also with the keyboard, where it is wider than the screen. */
export const table = ({ id, caption, head, rows }: Table): Markup =>
  markup`<figure><figcaption id="${id}">${caption}</figcaption><div class="wide" tabindex="0" role="group" aria-labelledby="${id}"><table aria-labelledby="${id}">
<thead><tr>${head.map((each) => markup`<th scope="col">${each}</th>`)}</tr></thead>
<tbody>${rows.map((row) => markup`${row}\n`)}</tbody></table></div></figure>`;
