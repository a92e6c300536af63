/**
 * PEM as Go's encoding/pem reads it, which is what every Kubernetes component and etcd do. Node and
 * openssl are stricter in some places and laxer in others, so neither can say what a consumer will load.
 */
export interface PemBlock {
  readonly type: string;
  readonly bytes: Buffer;
  /** 1-based line of the BEGIN marker. */
  readonly line: number;
  /** 1-based number of its BEGIN marker among all of the file. */
  readonly number: number;
  readonly headers: Readonly<Record<string, string>>;
}

export interface PemProblem {
  readonly line: number;
  /** 1-based number of the BEGIN marker that it is about; 0: about the file as a whole. */
  readonly block: number;
  readonly text: string;
}

export interface PemContent {
  /** What the consumer gets, in order. */
  readonly blocks: readonly PemBlock[];
  /** BEGIN markers that give no block: what the consumer loses without a word. */
  readonly problems: readonly PemProblem[];
}

const BEGIN = '-----BEGIN ';
const END = '-----END ';
const DASHES = '-----';

/** A line without its end and without the blanks behind it; only spaces, tabs and the CR of a CRLF count. */
const trimLine = (line: string): string => line.replace(/\r$/, '').replace(/[ \t]+$/, '');

/** Strict standard base64 with padding; undefined when Go's decoder would refuse it. */
const decodeBase64 = (text: string): Buffer | undefined =>
  text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined;

interface Attempt {
  readonly block?: PemBlock;
  readonly problem?: string;
  /** Index of the first line behind the block, when there is one. */
  readonly next: number;
}

/** Reads the block whose BEGIN marker is on line `start`. */
const readBlock = (lines: readonly string[], start: number, number: number): Attempt => {
  const first = trimLine(lines[start] ?? '');
  const next = start + 1;
  if (!first.endsWith(DASHES) || first.length < BEGIN.length + DASHES.length) {
    return { problem: 'the BEGIN line does not end with five dashes', next };
  }
  const type = first.slice(BEGIN.length, -DASHES.length);
  const headers: Record<string, string> = {};
  let at = next;
  for (; at < lines.length; at += 1) {
    const colon = trimLine(lines[at] ?? '').indexOf(':');
    if (colon < 0) break;
    const line = trimLine(lines[at] ?? '');
    headers[line.slice(0, colon).trim()] = line.slice(colon + 1).trim();
  }
  // Behind headers Go wants a line before the END line; without any the END line may come at once.
  const from = at > next ? at + 1 : at;
  const end = lines.findIndex((line, index) => index >= from && line.startsWith(END));
  if (end < 0) return { problem: `no END line for this ${type}`, next };
  const endLine = trimLine(lines[end] ?? '');
  if (!endLine.startsWith(`${END}${type}${DASHES}`)) {
    return { problem: `the next END line is not that of a ${type}: ${endLine.slice(0, 60)}`, next };
  }
  if (endLine !== `${END}${type}${DASHES}`) {
    return {
      problem: `something stands behind the END line (${endLine.includes(BEGIN) ? 'two blocks glued together without a line end' : 'extra text'})`,
      next,
    };
  }
  const bytes = decodeBase64(
    lines
      .slice(at, end)
      .join('')
      .replace(/[\r\n \t]/g, ''),
  );
  if (bytes === undefined) return { problem: `the base64 of this ${type} is damaged`, next };
  return { block: { type, bytes, line: start + 1, number, headers }, next: end + 1 };
};

/** Splits PEM text into the blocks its consumer would get, and the blocks it would silently lose. */
export const readPem = (text: string): PemContent => {
  const lines = text.split('\n');
  const blocks: PemBlock[] = [];
  const problems: PemProblem[] = [];
  // Every marker counts, also those that are no block of their own: people count what they see.
  const markersUpTo = lines.map(
    (
      (sum) => (line: string) =>
        (sum += line.split(BEGIN).length - 1)
    )(0),
  );
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? '';
    const number = (markersUpTo[at - 1] ?? 0) + 1;
    if (!line.startsWith(BEGIN)) {
      if (line.includes(BEGIN)) {
        const why = line.startsWith('\uFEFF')
          ? 'a byte order mark stands before BEGIN'
          : 'BEGIN is not at the start of its line';
        problems.push({ line: at + 1, block: number, text: why });
      }
      at += 1;
      continue;
    }
    const attempt = readBlock(lines, at, number);
    if (attempt.block) blocks.push(attempt.block);
    if (attempt.problem !== undefined) problems.push({ line: at + 1, block: number, text: attempt.problem });
    at = attempt.next;
  }
  return { blocks, problems };
};

/** A problem with the place it is at, for people: block by number of its BEGIN marker, and line. */
export const describeProblem = ({ block, line, text }: PemProblem): string =>
  block === 0 ? text : `block ${block}, line ${line}: ${text}`;
