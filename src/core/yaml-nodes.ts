import {
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Document,
  type Node,
  type Pair,
  type Scalar,
} from 'yaml';

/** Keys and indexes from the top of a document to a value. */
export type YamlPath = readonly (string | number)[];

const resolved = (document: Document, value: unknown): Node | undefined => {
  if (isAlias(value)) return value.resolve(document);
  return isNode(value) ? value : undefined;
};

const isKey = (pair: Pair, part: string | number): boolean =>
  isScalar(pair.key) && String(pair.key.value) === String(part);

/** The entry of a map that holds the value at a path. */
export const pairAt = (document: Document, path: YamlPath): Pair | undefined => {
  const parent = nodeAt(document, path.slice(0, -1));
  const last = path.at(-1);
  return isMap(parent) && last !== undefined ? parent.items.find((pair) => isKey(pair, last)) : undefined;
};

/** The node at a path, through aliases; undefined where there is none. */
export const nodeAt = (document: Document, path: YamlPath): Node | undefined => {
  let node = resolved(document, document.contents);
  for (const part of path) {
    if (isMap(node)) node = resolved(document, node.items.find((pair) => isKey(pair, part))?.value);
    else if (isSeq(node)) node = resolved(document, node.items[Number(part)]);
    else return undefined;
  }
  return node;
};

/** Length of the escape sequence of a double-quoted scalar that starts here; a line end that is escaped counts too. */
const escapeLength = (source: string, at: number): number => {
  const kind = source[at + 1];
  if (kind === 'x') return 4;
  if (kind === 'u') return 6;
  return kind === 'U' ? 10 : 2;
};

/**
 * Where in the source a character of a scalar's value stands. Quotes, escapes, folded lines and the indentation of
 * blocks are all in the source and not in the value, so the two are walked side by side.
 */
export const offsetInScalar = (source: string, node: Scalar, offset: number): number => {
  const [start, end] = node.range ?? [0, 0];
  if (typeof node.value !== 'string') return start;
  const isDouble = node.type === 'QUOTE_DOUBLE';
  const isSingle = node.type === 'QUOTE_SINGLE';
  const isBlock = node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED';
  let at = start;
  if (isDouble || isSingle) at += 1;
  if (isBlock) at = source.indexOf('\n', start) + 1;
  for (let index = 0; index <= offset && at < end; index += 1) {
    const char = node.value[index];
    while (at < end && source[at] !== char && /\s/.test(source[at] ?? '') && !isLineFold(char, source[at]))
      at += 1;
    while (isDouble && source[at] === '\\' && /[\r\n]/.test(source[at + 1] ?? ''))
      at += 2 + (/^\s*/.exec(source.slice(at + 2, end))?.[0].length ?? 0);
    if (index === offset) return Math.min(at, end);
    if (isDouble && source[at] === '\\') at += escapeLength(source, at);
    else if (isSingle && source.startsWith("''", at)) at += 2;
    else at += 1;
  }
  return Math.min(at, end);
};

/** A line end of the source that stands for one blank or line end of the value. */
const isLineFold = (char: string | undefined, inSource: string | undefined): boolean =>
  inSource === '\n' && (char === ' ' || char === '\n');
