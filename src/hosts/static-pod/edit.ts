import { isDeepStrictEqual } from 'node:util';
import { isMap, isScalar, type Pair, type ParsedNode, type YAMLMap } from 'yaml';
import { parseManifest, plainManifest, RESTARTED_AT } from './manifest.js';

type Map = YAMLMap.Parsed;
type Entry = Pair<ParsedNode, ParsedNode | null>;

/** What is put in place of a piece of the text. */
interface Splice {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export type Edited =
  { readonly text: string; readonly why?: undefined } | { readonly text?: undefined; readonly why: string };

const entryOf = (map: Map, name: string): Entry | undefined =>
  (map.items as readonly Entry[]).find(({ key }) => isScalar(key) && key.value === name);

/** Behind the colon of an entry of a block map. */
const behindColon = (source: string, { key }: Entry): number => source.indexOf(':', key.range[1]) + 1;

/** A new first line of a block map, under the line of the key that the map belongs to; comments there stay with what they are of. */
const firstLine = (source: string, parent: Entry, map: Map, lines: readonly string[]): Splice | undefined => {
  const first = (map.items as readonly Entry[])[0]?.key.range[0];
  const at = source.indexOf('\n', parent.key.range[1]) + 1;
  if (first === undefined || at === 0 || at > first) return undefined;
  const indent = source.slice(source.lastIndexOf('\n', first) + 1, first);
  if (indent.trim() !== '') return undefined;
  const end = source[at - 2] === '\r' ? '\r\n' : '\n';
  return { from: at, to: at, text: lines.map((line) => indent + line + end).join('') };
};

/** A new first entry of a map between braces. */
const firstInFlow = (source: string, map: Map, entry: string): Splice | undefined => {
  const [start] = map.range;
  if (source[start] !== '{') return undefined;
  return { from: start + 1, to: start + 1, text: map.items.length === 0 ? entry : `${entry}, ` };
};

/** Another value of an entry that is there. */
const otherValue = (source: string, entry: Entry, text: string): Splice => {
  const range = entry.value?.range;
  if (!range || range[0] === range[1]) {
    const at = behindColon(source, entry);
    return { from: at, to: at, text: ` ${text}` };
  }
  return { from: range[0], to: range[1], text };
};

const spliceOf = (source: string, top: Map, value: string): Splice | undefined => {
  const note = `${RESTARTED_AT}: "${value}"`;
  const noteInFlow = `"${RESTARTED_AT}": "${value}"`;
  const metadata = entryOf(top, 'metadata');
  if (!metadata || !isMap(metadata.value)) return undefined;
  const annotations = entryOf(metadata.value, 'annotations');
  if (!annotations) {
    return metadata.value.flow === true
      ? firstInFlow(source, metadata.value, `"annotations": {${noteInFlow}}`)
      : firstLine(source, metadata, metadata.value, ['annotations:', `  ${note}`]);
  }
  if (!isMap(annotations.value)) return otherValue(source, annotations, `{${noteInFlow}}`);
  const before = entryOf(annotations.value, RESTARTED_AT);
  if (before) return otherValue(source, before, `"${value}"`);
  return annotations.value.flow === true
    ? firstInFlow(source, annotations.value, noteInFlow)
    : firstLine(source, annotations, annotations.value, [note]);
};

/** Whether the edited text says the same as before, but for the note. */
const isOnlyNoted = (before: string, after: string, value: string): boolean => {
  const [old, now] = [plainManifest(before), plainManifest(after)];
  if ('why' in old || 'why' in now) return false;
  const data = structuredClone(old.data) as { metadata: { annotations?: Record<string, string> | null } };
  data.metadata.annotations = { ...data.metadata.annotations, [RESTARTED_AT]: value };
  return isDeepStrictEqual(now.data, data);
};

/**
 * A manifest with the note of a restart in it, every other byte as it was: comments, order, quotes, line ends. What comes out
 * is read again and must say just what it said before, and the note; otherwise it is not used. Pure.
 */
export const withRestartNote = (source: string, value: string): Edited => {
  const plain = plainManifest(source);
  if ('why' in plain) return plain;
  const top = parseManifest(source)[0]?.contents;
  const splice = isMap(top) ? spliceOf(source, top, value) : undefined;
  if (splice) {
    const text = source.slice(0, splice.from) + splice.text + source.slice(splice.to);
    if (isOnlyNoted(source, text, value)) return { text };
  }
  return {
    why: `its metadata is written in a way that certroll does not edit (an alias, an anchor, a tag, or no metadata); write metadata.annotations out as a plain map`,
  };
};
