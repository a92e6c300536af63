import { stripVTControlCharacters } from 'node:util';

// East Asian wide and fullwidth forms, and emoji: the blocks that terminals draw over two columns.
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]/u;
const NO_WIDTH = /[\p{Mn}\p{Me}\u200b-\u200d\ufe00-\ufe0f]/u;

/** Columns that a text takes on a terminal; colour codes take none, wide characters two. */
export const displayWidth = (text: string): number => {
  let columns = 0;
  for (const char of stripVTControlCharacters(text))
    columns += NO_WIDTH.test(char) ? 0 : WIDE.test(char) ? 2 : 1;
  return columns;
};

/**
 * Text that is safe to print in a line, whoever wrote it: what hosts and files say can hold line ends and escape
 * sequences, which would move the cursor or forge a line of the report.
 */
export const printable = (text: string): string =>
  stripVTControlCharacters(text)
    .replaceAll(/\s*[\r\n\u2028\u2029]\s*/g, ' | ')
    .replaceAll('\t', ' ')
    .replaceAll(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');

/** A text as one line, without blanks around it. */
export const oneLine = (text: string): string => printable(text.trim());

/** The start of a text that fits a number of columns; a cut text ends in an ellipsis. Takes no colour codes. */
export const fitColumns = (text: string, columns: number): string => {
  if (displayWidth(text) <= columns) return text;
  let kept = '';
  let used = 0;
  for (const char of text) {
    const wide = displayWidth(char);
    if (used + wide > columns - 1) break;
    kept += char;
    used += wide;
  }
  return columns > 0 ? `${kept}…` : '';
};
