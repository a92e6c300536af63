import { CertrollError, EXIT } from '../core/errors.js';

export { foldHosts } from './fold.js';

/** More hosts than any cluster has: a slip such as `[1-99999999]` must not eat the memory. */
const MOST_HOSTS = 100_000;

/** What a name may hold once it is expanded; a leading dash would read as an option of ssh. */
const HOST_NAME = /^[A-Za-z0-9_:]([A-Za-z0-9_.:-]*[A-Za-z0-9_])?$/;

const OPERATORS = {
  ',': (left, right) => new Set([...left, ...right]),
  '!': (left, right) => new Set([...left].filter((name) => !right.has(name))),
  '&': (left, right) => new Set([...left].filter((name) => right.has(name))),
  '^': (left, right) =>
    new Set(
      [...left].filter((name) => !right.has(name)).concat([...right].filter((name) => !left.has(name))),
    ),
} satisfies Record<string, (left: ReadonlySet<string>, right: ReadonlySet<string>) => Set<string>>;

type Operator = keyof typeof OPERATORS;
const isOperator = (char: string | undefined): char is Operator => char !== undefined && char in OPERATORS;

/** A piece of the expression and where it starts in it (0-based). */
interface Piece {
  readonly text: string;
  readonly at: number;
}

/**
 * The hosts that an expression names, in the order written, each once. The syntax is that of
 * ClusterShell's NodeSet, which cumin uses too: `cp[1-3,7]`, `node[001-100/2]`, `rack[1-2]-n[1-4]`,
 * and the operators `,` (and) `!` (without) `&` (in both) `^` (in one only), worked left to right.
 *
 * Throws `usage.hosts`, with the position, for anything else and when no host is left.
 */
export const expandHosts = (expression: string): string[] => {
  const fail: Fail = (what, at) => {
    throw new CertrollError(`host expression '${expression}': ${what}, at character ${at + 1}`, {
      code: 'usage.hosts',
      exit: EXIT.usage,
      hint: 'Write hosts as ClusterShell and cumin do, such as cp[1-3].example.net or node[01-20]!node07.',
    });
  };
  let names: Set<string> = new Set<string>();
  for (const { operator, operand } of split(expression, fail)) {
    names = OPERATORS[operator](names, new Set(expandOperand(operand, fail)));
  }
  if (names.size === 0) fail('no host is left', 0);
  return [...names];
};

type Fail = (what: string, at: number) => never;

/** Cuts at the operators that stand outside brackets. */
const split = (expression: string, fail: Fail): { operator: Operator; operand: Piece }[] => {
  const parts: { operator: Operator; operand: Piece }[] = [];
  let operator: Operator = ',';
  let start = 0;
  let open = -1;
  for (let at = 0; at <= expression.length; at++) {
    const char = expression[at];
    if (char === '[' && open >= 0) fail("'[' inside brackets", at);
    if (char === ']' && open < 0) fail("']' without '['", at);
    if (char === '[') open = at;
    if (char === ']') open = -1;
    if (char === undefined && open >= 0) fail("'[' is never closed", open);
    if (open >= 0 || !(char === undefined || isOperator(char))) continue;
    const operand = trim({ text: expression.slice(start, at), at: start });
    if (operand.text === '')
      fail(char === undefined ? 'a host is missing' : `a host is missing before '${char}'`, at);
    parts.push({ operator, operand });
    if (char !== undefined) operator = char;
    start = at + 1;
  }
  return parts;
};

const trim = ({ text, at }: Piece): Piece => ({
  text: text.trim(),
  at: at + text.length - text.trimStart().length,
});

/** One operand without operators: literal text and bracketed lists, multiplied out. */
const expandOperand = (operand: Piece, fail: Fail): string[] => {
  const parts: string[][] = [];
  let literalSinceBracket: string | undefined;
  for (const match of operand.text.matchAll(/\[([^\]]*)\]|[^[]+/g)) {
    const at = operand.at + match.index;
    if (match[1] === undefined) {
      checkLiteral({ text: match[0], at }, fail);
      parts.push([match[0]]);
      if (literalSinceBracket !== undefined) literalSinceBracket += match[0];
      continue;
    }
    if (literalSinceBracket !== undefined && /^\d*$/.test(literalSinceBracket)) {
      fail('two bracketed lists need something other than digits between them', at);
    }
    checkNeighbours(match[1], operand.text, match.index, (what) => fail(what, at));
    parts.push(expandList({ text: match[1], at: at + 1 }, fail));
    literalSinceBracket = '';
  }
  if (parts.reduce((product, part) => product * part.length, 1) > MOST_HOSTS) {
    fail(`more than ${MOST_HOSTS} hosts`, operand.at);
  }
  const names = parts.reduce<string[]>(
    (heads, tails) => heads.flatMap((head) => tails.map((tail) => head + tail)),
    [''],
  );
  const wrong = names.find((name) => !HOST_NAME.test(name));
  if (wrong !== undefined) fail(`'${wrong}' is not a host name`, operand.at);
  return names;
};

/**
 * Digits that touch a bracket belong to the same number, and there ClusterShell and the plain
 * reading part ways: it takes `w1[9-14]` for w19 to w114. What tools disagree on is refused.
 */
const checkNeighbours = (list: string, text: string, index: number, fail: (what: string) => never): void => {
  const isAfterDigit = /\d$/.test(text.slice(0, index));
  const isBeforeDigit = /^\d/.test(text.slice(index + list.length + 2));
  const widths = new Set(
    [...list.replaceAll(/\/\s*\d+/g, '').matchAll(/\d+/g)].map(([number]) => number.length),
  );
  if ((isAfterDigit || isBeforeDigit) && widths.size > 1) {
    fail('the numbers of a list beside a digit need one width, such as 1[09-14]');
  }
  if (isBeforeDigit && list.includes('/')) fail('a step cannot stand before a digit');
};

const checkLiteral = (literal: Piece, fail: Fail): void => {
  const space = literal.text.search(/\s/);
  if (space >= 0) fail('two hosts need a comma between them', literal.at + space);
  const group = literal.text.indexOf('@');
  if (group >= 0) fail("'@' names a group or a user; write host names only", literal.at + group);
  const wild = literal.text.search(/[*?]/);
  if (wild >= 0)
    fail(
      `'${literal.text.charAt(wild)}' cannot be used: there is no list of all hosts to pick from`,
      literal.at + wild,
    );
};

/** The inside of brackets: numbers and ranges between commas. */
const expandList = (list: Piece, fail: Fail): string[] => {
  let at = list.at;
  return list.text.split(',').flatMap((text) => {
    const range = trim({ text, at });
    at += text.length + 1;
    return expandRange(range, fail);
  });
};

const expandRange = ({ text, at }: Piece, fail: Fail): string[] => {
  if (text === '') return fail('a number or a range is missing', at);
  const [, first, last = first, step = '1'] = /^(\d+)(?:\s*-\s*(\d+)(?:\s*\/\s*(\d+))?)?$/.exec(text) ?? [];
  if (first === undefined || last === undefined) return fail(`'${text}' is neither a number nor a range`, at);
  const [from, to, by] = [Number(first), Number(last), Number(step)];
  if (from > to) fail(`'${text}' runs backwards`, at);
  if (by < 1) fail(`'${text}' has a step of nothing`, at);
  if (first.length !== last.length && (isPadded(first) || isPadded(last))) {
    fail(`'${text}' pads its two ends with zeros to different widths`, at);
  }
  if ((to - from) / by >= MOST_HOSTS) fail(`'${text}' is more than ${MOST_HOSTS} hosts`, at);
  const count = Math.floor((to - from) / by) + 1;
  return Array.from({ length: count }, (_, index) =>
    String(from + index * by).padStart(isPadded(first) ? first.length : 0, '0'),
  );
};

const isPadded = (digits: string): boolean => digits.length > 1 && digits.startsWith('0');
