import { printable } from '../core/text.js';
import type { Difference } from '../init/differences.js';
import type { Gap } from '../init/proposal.js';
import { renderTable } from './table.js';

/** What a cluster file says otherwise than was seen, or that it does not. */
export const renderDifferences = (
  file: string,
  differences: readonly Difference[],
  isPartly: boolean,
): string => {
  if (differences.length === 0)
    return isPartly
      ? `${file}: what could be seen is as it says; the rest is not known.`
      : `${file}: the cluster is as it says.`;
  const rows = differences.map(({ path, says, seen }) => [path, says, seen]);
  const count = `${differences.length} difference${differences.length === 1 ? '' : 's'}`;
  return [
    renderTable([['SETTING', 'THE FILE SAYS', 'SEEN'], ...rows]),
    '',
    `${file}: ${count}. Nothing was written: mend it by hand, or write it anew with --force, or to another file with -o.`,
  ].join('\n');
};

/** What could not be found out, a line each. */
export const renderGaps = (gaps: readonly Gap[]): readonly string[] =>
  gaps.map(({ path, text }) => `not found out: ${path === '' ? '' : `${path}: `}${printable(text)}`);
