import { BEGIN, DASHES, decodePem, END, trimLine } from './decode.js';

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

/** Why the marker on that line of the file gives no block, for the person who must mend it. */
const whyLost = (lines: readonly string[], at: number): string => {
  const line = lines[at] ?? '';
  if (line.startsWith(`\uFEFF${BEGIN}`)) return 'a byte order mark stands before BEGIN';
  if (!line.startsWith(BEGIN)) return 'BEGIN is not at the start of its line';
  const first = trimLine(line);
  if (!first.endsWith(DASHES) || first.length < BEGIN.length + DASHES.length)
    return 'the BEGIN line does not end with five dashes';
  const type = first.slice(BEGIN.length, -DASHES.length);
  const closing = lines.slice(at + 1).find((each) => each.startsWith(END));
  if (closing === undefined) return `no END line for this ${type}`;
  const wanted = `${END}${type}${DASHES}`;
  if (!closing.startsWith(wanted))
    return `the next END line is not that of a ${type}: ${trimLine(closing).slice(0, 60)}`;
  if (trimLine(closing) !== wanted)
    return `something stands behind the END line (${closing.includes(BEGIN) ? 'two blocks glued together without a line end' : 'extra text'})`;
  return `the base64 of this ${type} is damaged`;
};

/** Splits PEM text into the blocks its consumer would get, and the markers that give none. Every marker is in one of the two. */
export const readPem = (text: string): PemContent => {
  const lines = text.split('\n');
  const found = new Map(decodePem(text).map((block) => [block.begin, block]));
  const blocks: PemBlock[] = [];
  const problems: PemProblem[] = [];
  let number = 0;
  let line = 1;
  for (let at = text.indexOf(BEGIN), seen = 0; at >= 0; at = text.indexOf(BEGIN, at + 1)) {
    number += 1;
    line += text.slice(seen, at).split('\n').length - 1;
    seen = at;
    const block = found.get(at);
    if (block) blocks.push({ type: block.type, bytes: block.bytes, headers: block.headers, line, number });
    else problems.push({ line, block: number, text: whyLost(lines, line - 1) });
  }
  return { blocks, problems };
};

/** A problem with the place it is at, for people: block by number of its BEGIN marker, and line. */
export const describeProblem = ({ block, line, text }: PemProblem): string =>
  block === 0 ? text : `block ${block}, line ${line}: ${text}`;
