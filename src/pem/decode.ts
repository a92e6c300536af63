/**
 * The blocks that Go's encoding/pem finds in a text. Its rules, as they were watched on Go itself (the test against it is
 * test/integration/pem): it looks for the next END marker at a line start, and takes the last BEGIN marker before it;
 * what it cannot read it passes over, without a word, to behind that END marker.
 */
export interface RawBlock {
  readonly type: string;
  readonly bytes: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  /** Where its BEGIN marker stands. */
  readonly begin: number;
}

export const BEGIN = '-----BEGIN ';
export const END = '-----END ';
export const DASHES = '-----';
const END_LINE = `\n${END}`;

/** A line without its end and without the blanks behind it; only spaces, tabs and the CR of a CRLF count. */
export const trimLine = (line: string): string => line.replace(/\r$/, '').replace(/[ \t]+$/, '');

interface Line {
  readonly text: string;
  /** Where the next line begins. */
  readonly next: number;
}

const lineAt = (text: string, from: number): Line => {
  const end = text.indexOf('\n', from);
  return end < 0
    ? { text: trimLine(text.slice(from)), next: text.length }
    : { text: trimLine(text.slice(from, end)), next: end + 1 };
};

/** Strict standard base64 with padding; undefined when Go's decoder would refuse it. */
const decodeBase64 = (text: string): Buffer | undefined => {
  const dense = text.replace(/[\r\n \t]/g, '');
  return dense.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(dense)
    ? Buffer.from(dense, 'base64')
    : undefined;
};

interface Headers {
  readonly headers: Readonly<Record<string, string>>;
  /** Where what follows them begins; undefined when the text ends with them. */
  readonly next: number | undefined;
}

/** Every line with a colon is a header. */
const readHeaders = (text: string, from: number): Headers => {
  const headers: Record<string, string> = {};
  for (let at = from; at < text.length;) {
    const line = lineAt(text, at);
    const colon = line.text.indexOf(':');
    if (colon < 0) return { headers, next: at };
    headers[line.text.slice(0, colon).trim()] = line.text.slice(colon + 1).trim();
    at = line.next;
  }
  return { headers, next: undefined };
};

interface Attempt {
  readonly block?: RawBlock;
  /** Where to look on; undefined: Go gives up on the rest of the text. */
  readonly next: number | undefined;
}

/** Reads the block between a BEGIN marker and the END marker (its newline) that was found behind it. */
const readBetween = (text: string, begin: number, end: number): Attempt => {
  const trailer = end + END_LINE.length;
  /** Passes over it, unless it has read beyond the END marker: Go finds no way on from there. */
  const failed = (cursor: number): Attempt => ({ next: cursor > trailer ? undefined : trailer });
  const first = lineAt(text, begin + BEGIN.length);
  if (!first.text.endsWith(DASHES)) return failed(first.next);
  const type = first.text.slice(0, -DASHES.length);
  const { headers, next: body } = readHeaders(text, first.next);
  if (body === undefined) return { next: undefined };
  // Behind headers there must be a line of its own before END; without any, END may come at once.
  if (Object.keys(headers).length > 0 && body > end) return failed(body);
  const closing = lineAt(text, trailer);
  if (closing.text !== type + DASHES) return failed(body);
  const bytes = body < end ? decodeBase64(text.slice(body, end)) : Buffer.alloc(0);
  if (!bytes) return failed(body);
  return { block: { type, bytes, headers, begin }, next: closing.next };
};

/** The blocks of a text, in order. */
export const decodePem = (text: string): readonly RawBlock[] => {
  const blocks: RawBlock[] = [];
  for (let at: number | undefined = 0; at !== undefined;) {
    const end = text.indexOf(END_LINE, at);
    if (end < 0) break;
    const begin = text.slice(at, end).lastIndexOf(BEGIN);
    if (begin < 0 || (begin > 0 && text[at + begin - 1] !== '\n')) {
      at = end + END_LINE.length;
      continue;
    }
    const attempt = readBetween(text, at + begin, end);
    if (attempt.block) blocks.push(attempt.block);
    at = attempt.next;
  }
  return blocks;
};
