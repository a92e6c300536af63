import { Environment, type ASTNode } from '@marcbachmann/cel-js';
import { parseDuration } from '../core/duration.js';
import { messageOf } from '../core/errors.js';
import { suggest } from '../core/suggest.js';

/** What an expression may name. */
export interface Scope {
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly cluster: Readonly<Record<string, unknown>>;
  /** Outputs of earlier steps, by step id. */
  readonly steps: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** The names of a scope, for checks before a run. */
export interface Names {
  readonly inputs: readonly string[];
  readonly cluster: readonly string[];
  readonly steps: Readonly<Record<string, readonly string[]>>;
}

/** Something wrong with an expression; `offset` counts characters into it. */
export interface ExpressionProblem {
  readonly offset: number;
  readonly message: string;
}

const MAX_LENGTH = 1000;
const MS_PER_DAY = 86_400_000;

const environment = new Environment({ unlistedVariablesAreDyn: true })
  .registerFunction('days(string): double', (text: string) => parseDuration(text) / MS_PER_DAY)
  .registerFunction('millis(string): int', (text: string) => BigInt(parseDuration(text)));

/** Children of a node, whatever its operator. */
const children = (node: ASTNode): readonly ASTNode[] =>
  [node.args]
    .flat(3)
    .filter((part): part is ASTNode => typeof part === 'object' && part !== null && 'op' in part);

/** `a.b.c` as ['a','b','c'], with its node; undefined for anything else. */
const chainOf = (node: ASTNode): readonly string[] | undefined => {
  if (node.op === 'id') return [node.args];
  if (node.op !== '.') return undefined;
  const [target, member] = node.args;
  const before = chainOf(target);
  return before && [...before, member];
};

const unknown = (
  offset: number,
  what: string,
  word: string,
  known: readonly string[],
): ExpressionProblem => ({
  offset,
  message: [`unknown ${what} '${word}'`, suggest(word, known)].filter(Boolean).join('; '),
});

const checkChain = (
  node: ASTNode,
  [root = '', first, second]: readonly string[],
  names: Names,
): readonly ExpressionProblem[] => {
  const roots = ['inputs', 'cluster', 'steps'];
  if (!roots.includes(root)) return [unknown(node.start, 'variable', root, roots)];
  if (first === undefined) return [];
  if (root === 'inputs')
    return names.inputs.includes(first) ? [] : [unknown(node.start, 'input', first, names.inputs)];
  if (root === 'cluster')
    return names.cluster.includes(first)
      ? []
      : [unknown(node.start, 'property of the cluster', first, names.cluster)];
  const outputs = names.steps[first];
  if (!outputs) return [unknown(node.start, 'earlier step', first, Object.keys(names.steps))];
  return second === undefined || outputs.includes(second)
    ? []
    : [unknown(node.start, `output of step '${first}'`, second, outputs)];
};

const walk = (node: ASTNode, names: Names, bound: ReadonlySet<string>): readonly ExpressionProblem[] => {
  const chain = chainOf(node);
  if (chain) return bound.has(chain[0] ?? '') ? [] : checkChain(node, chain, names);
  if (node.op === 'rcall') {
    // A regular expression in a cookbook could hold a run for minutes (no linear-time engine here).
    if (node.args[0] === 'matches')
      return [
        {
          offset: node.start,
          message: "'matches' is not available; use ==, in, startsWith, endsWith or contains",
        },
      ];
    // exists(x, …), all(x, …), filter(x, …), map(x, …): the first argument names a variable of their own.
    const [, target, args] = node.args;
    const [variable] = args;
    const inner = variable?.op === 'id' && args.length > 1 ? new Set([...bound, variable.args]) : bound;
    return [target, ...args].flatMap((part) => walk(part, names, inner));
  }
  return children(node).flatMap((child) => walk(child, names, bound));
};

const strip = (text: string): { readonly source: string; readonly offset: number } => {
  const wrapped = /^(\s*\$\{\{)(.*)\}\}\s*$/s.exec(text);
  return wrapped && !(wrapped[2] ?? '').includes('${{')
    ? { source: wrapped[2] ?? '', offset: (wrapped[1] ?? '').length }
    : { source: text, offset: 0 };
};

const clean = (message: string): string => message.split('\n')[0] ?? message;

/** Checks one expression (with or without `${{ }}`) before anything is run: its form, and every name in it. */
export const checkExpression = (text: string, names: Names): readonly ExpressionProblem[] => {
  const { source, offset } = strip(text);
  if (source.length > MAX_LENGTH)
    return [{ offset, message: `an expression may have ${MAX_LENGTH} characters at most` }];
  try {
    const { ast } = environment.parse(source);
    return walk(ast, names, new Set()).map((problem) => ({ ...problem, offset: problem.offset + offset }));
  } catch (thrown) {
    const at = (thrown as { range?: { start: number } }).range?.start ?? 0;
    return [{ offset: offset + at, message: clean(messageOf(thrown)) }];
  }
};

/** CEL's whole numbers are bigints; the rest of certroll has no use for them. */
const plain = (value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value);

/** Whole numbers as CEL has them: `inputs.count + 1` is an overload of two ints. */
const toCel = (value: unknown): unknown => {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(toCel);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toCel(item)]));
};

/** Evaluates a checked expression. Throws an Error with one line when it cannot be evaluated. */
export const evaluate = (text: string, scope: Scope): unknown => {
  try {
    return plain(environment.parse(strip(text).source)(toCel(scope) as Record<string, unknown>));
  } catch (thrown) {
    throw new Error(clean(messageOf(thrown)), { cause: thrown });
  }
};

interface Piece {
  readonly text: string;
  readonly isExpression: boolean;
  readonly offset: number;
}

/** Splits text into plain parts and `${{ }}` parts; `$${{` is a plain `${{`. */
const pieces = (text: string): readonly Piece[] => {
  const found: Piece[] = [];
  let last = 0;
  for (const match of text.matchAll(/\$\$\{\{|\$\{\{(.*?)\}\}/gs)) {
    if (match.index > last)
      found.push({ text: text.slice(last, match.index), isExpression: false, offset: last });
    const [whole, expression] = match;
    found.push(
      expression === undefined
        ? { text: '${{', isExpression: false, offset: match.index }
        : { text: expression, isExpression: true, offset: match.index + 3 },
    );
    last = match.index + whole.length;
  }
  if (last < text.length) found.push({ text: text.slice(last), isExpression: false, offset: last });
  return found;
};

/** Checks every `${{ }}` in a text. */
export const checkText = (text: string, names: Names): readonly ExpressionProblem[] =>
  pieces(text).flatMap((piece) =>
    piece.isExpression
      ? checkExpression(piece.text, names).map((problem) => ({
          ...problem,
          offset: problem.offset + piece.offset,
        }))
      : [],
  );

/** Fills in the `${{ }}` of a value, at any depth. A text that is one expression and nothing else keeps its type. */
export const interpolate = (value: unknown, scope: Scope): unknown => {
  if (Array.isArray(value)) return value.map((item) => interpolate(item, scope));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, interpolate(item, scope)]));
  }
  if (typeof value !== 'string') return value;
  const parts = pieces(value);
  const [only] = parts;
  if (parts.length === 1 && only?.isExpression) return evaluate(only.text, scope);
  return parts
    .map((piece) => (piece.isExpression ? String(evaluate(piece.text, scope)) : piece.text))
    .join('');
};
