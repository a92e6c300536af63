import { stripVTControlCharacters } from 'node:util';

/** Columns on the screen; colour codes take none. */
const width = (text: string): number => Array.from(stripVTControlCharacters(text)).length;

/** Left-aligned columns, two spaces apart; the last one is not padded. */
export const renderTable = (rows: readonly (readonly string[])[]): string => {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, at) =>
    Math.max(0, ...rows.map((row) => width(row[at] ?? ''))),
  );
  return rows
    .map((row) =>
      row
        .map((cell, at) =>
          at === row.length - 1 ? cell : cell + ' '.repeat((widths[at] ?? 0) - width(cell)),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
};
