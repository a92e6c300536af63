import { displayWidth, fitColumns, printable } from '../core/text.js';

const GAP = 2;
/** Narrower than this no column is made: a word a line helps nobody. */
const NARROWEST = 12;

const COLOR = /(\u001b\[[0-9;]*m)/;

/** A cell without anything but text and colours: what others wrote must not move the cursor. */
const safe = (cell: string): string =>
  cell
    .split(COLOR)
    .map((part) => (COLOR.test(part) ? part : printable(part)))
    .join('')
    .trim();

/** Lines of a cell at most `width` wide, cut between words. Coloured cells are short and stay whole. */
const wrap = (cell: string, width: number): readonly string[] => {
  if (displayWidth(cell) <= width || COLOR.test(cell)) return [cell];
  const lines: string[] = [];
  let line = '';
  for (const word of cell.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (displayWidth(longer) <= width) line = longer;
    else {
      if (line !== '') lines.push(line);
      line = word;
    }
    // A word wider than the column, such as a path, is cut where the column ends.
    while (displayWidth(line) > width) {
      const part = fitColumns(line, width + 1).slice(0, -1);
      if (part === '') break;
      lines.push(part);
      line = line.slice(part.length);
    }
  }
  return [...lines, line];
};

/** Widths of the columns, the widest made narrower until all fit. */
const fit = (natural: readonly number[], width: number): readonly number[] => {
  const widths = [...natural];
  const total = (): number => widths.reduce((sum, one) => sum + one, GAP * (widths.length - 1));
  while (total() > width) {
    const widest = Math.max(...widths);
    if (widest <= NARROWEST) break;
    widths[widths.lastIndexOf(widest)] = Math.max(NARROWEST, widest - 1);
  }
  return widths;
};

const terminalWidth = (): number => (process.stdout.isTTY ? process.stdout.columns : Infinity);

/**
 * Left-aligned columns, two spaces apart. On a terminal that is too narrow the widest columns are wrapped; in a pipe
 * every row stays one line.
 */
export const renderTable = (
  rows: readonly (readonly string[])[],
  width: number = terminalWidth(),
): string => {
  const cells = rows.map((row) => row.map(safe));
  const columns = Math.max(0, ...cells.map((row) => row.length));
  const natural = Array.from({ length: columns }, (_, at) =>
    Math.max(0, ...cells.map((row) => displayWidth(row[at] ?? ''))),
  );
  const widths = fit(natural, width);
  return cells
    .flatMap((row) => {
      const wrapped = row.map((cell, at) => wrap(cell, widths[at] ?? Infinity));
      const height = Math.max(1, ...wrapped.map((lines) => lines.length));
      return Array.from({ length: height }, (_, line) =>
        wrapped
          .map((lines, at) => {
            const text = lines[line] ?? '';
            return text + ' '.repeat(Math.max(0, (widths[at] ?? 0) - displayWidth(text)));
          })
          .join(' '.repeat(GAP))
          .trimEnd(),
      );
    })
    .join('\n');
};
