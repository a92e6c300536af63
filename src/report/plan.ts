import { Chalk } from 'chalk';
import { displayWidth, oneLine } from '../core/text.js';
import type { ShownEntry } from './events.js';
import { shortenKids } from './kids.js';
import { commonDomain, withoutDomain } from './names.js';
import { commonFolder, withoutFolder } from './paths.js';

/** How many entries of a plan are changes, and how many gates: `31 entries: 27 changes and 4 gates`. */
export const countEntries = (entries: readonly { readonly kind: 'change' | 'gate' }[]): string => {
  const changes = entries.filter(({ kind }) => kind === 'change').length;
  const count = (many: number, word: string): string => `${many} ${word}${many === 1 ? '' : 's'}`;
  const all = entries.length === 1 ? '1 entry' : `${entries.length} entries`;
  return `${all}: ${count(changes, 'change')} and ${count(entries.length - changes, 'gate')}`;
};

/** Said first, so that what is left out below is not missed. */
const legend = (domain: string | undefined, folder: string | undefined): readonly string[] => [
  ...(domain === undefined ? [] : [`Hosts are of ${domain.slice(1)}.`]),
  ...(folder === undefined
    ? []
    : [
        `Files named without a folder are in ${folder}${folder.includes('{host}') ? ' ({host}: the whole name of the host)' : ''}.`,
      ]),
];

/**
 * The plan for people: by step, each entry numbered, gates marked, a host named once for the entries that follow each
 * other on it. Kids are cut to twelve characters; a domain and a folder that they share are named once, at the top.
 */
export const renderPlan = (entries: readonly ShownEntry[], color: boolean): string => {
  const chalk = new Chalk({ level: color ? 1 : 0 });
  const domain = commonDomain(entries.flatMap(({ host }) => host ?? []));
  const folder = commonFolder(entries);
  const names = entries.map(({ host }) => withoutDomain(oneLine(host ?? '-'), domain));
  const width = Math.max(0, ...names.map(displayWidth));
  const lines: string[] = [...legend(domain, folder)];
  for (const [at, entry] of entries.entries()) {
    const before = entries[at - 1];
    const isNewStep = before?.step !== entry.step;
    if (isNewStep) lines.push('', chalk.bold(entry.step));
    const name = names[at] ?? '';
    const shown = isNewStep || before.host !== entry.host ? name : '';
    const text = shortenKids(withoutDomain(oneLine(withoutFolder(entry, folder)), domain));
    lines.push(
      `${entry.id.padStart(4)}. ${shown}${' '.repeat(Math.max(0, width - displayWidth(shown)))}  ${entry.kind === 'gate' ? chalk.cyan(`gate: ${text}`) : text}`,
    );
  }
  return lines.join('\n').replace(/^\n/, '');
};
