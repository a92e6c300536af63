/** A part of a text: plain, or an expression. */
export interface Piece {
  readonly kind: 'plain' | 'expression' | 'unclosed';
  readonly text: string;
  /** Where `text` starts in the whole. */
  readonly offset: number;
}

const OPEN = '${{';

/** Where a CEL string literal that starts at the quote ends. A backslash never ends one, in raw strings neither. */
const endOfString = (text: string, start: number): number => {
  const quote = text.charAt(start);
  const fence = text.startsWith(quote.repeat(3), start) ? quote.repeat(3) : quote;
  let at = start + fence.length;
  while (at < text.length && !text.startsWith(fence, at)) at += text[at] === '\\' ? 2 : 1;
  return at + fence.length;
};

/** Where the `}}` of an expression stands; braces of maps and strings inside are passed over. -1: nowhere. */
const endOfExpression = (text: string, start: number): number => {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"' || char === "'") at = endOfString(text, at) - 1;
    else if (char === '{') depth += 1;
    else if (char === '}' && depth > 0) depth -= 1;
    else if (text.startsWith('}}', at)) return at;
  }
  return -1;
};

/** Splits a text into its plain parts and its `${{ }}`; `$${{` is a plain `${{`. */
export const piecesOf = (text: string): readonly Piece[] => {
  const pieces: Piece[] = [];
  let last = 0;
  const plainUpTo = (end: number): void => {
    if (end > last) pieces.push({ kind: 'plain', text: text.slice(last, end), offset: last });
  };
  for (let at = text.indexOf(OPEN); at >= 0; at = text.indexOf(OPEN, last)) {
    if (at > last && text[at - 1] === '$') {
      plainUpTo(at - 1);
      pieces.push({ kind: 'plain', text: OPEN, offset: at });
      last = at + OPEN.length;
      continue;
    }
    plainUpTo(at);
    const start = at + OPEN.length;
    const end = endOfExpression(text, start);
    if (end < 0) return [...pieces, { kind: 'unclosed', text: text.slice(at), offset: at }];
    pieces.push({ kind: 'expression', text: text.slice(start, end), offset: start });
    last = end + 2;
  }
  plainUpTo(text.length);
  return pieces;
};

/** True when a value holds an expression anywhere. */
export const isDynamic = (value: unknown): boolean => {
  if (typeof value === 'string') return piecesOf(value).some(({ kind }) => kind !== 'plain');
  return typeof value === 'object' && value !== null && Object.values(value).some(isDynamic);
};

/** The one expression of a condition, which may stand in `${{ }}` or bare; undefined when it is a mixture. */
export const soleExpression = (text: string): Piece | undefined => {
  const pieces = piecesOf(text).filter(({ kind, text: part }) => kind !== 'plain' || part.trim() !== '');
  if (pieces.every(({ kind }) => kind === 'plain')) return { kind: 'expression', text, offset: 0 };
  return pieces.length === 1 ? pieces[0] : undefined;
};

export const UNCLOSED = "this '${{' has no '}}'";
export const MIXTURE = 'expected one expression, all of it within ${{ }} or without them';
