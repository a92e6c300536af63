import type { ASTNode } from '@marcbachmann/cel-js';
import { parseDuration } from '../core/duration.js';
import { messageOf } from '../core/errors.js';
import { suggest } from '../core/suggest.js';

/** The names that an expression may use, for checks before a run. */
export interface Names {
  readonly inputs: Readonly<Record<string, 'string' | 'boolean' | 'number' | 'duration'>>;
  readonly cluster: readonly string[];
  /** Outputs of the steps before this one, by step id. */
  readonly steps: Readonly<Record<string, readonly string[]>>;
  /** What else is known of the world; undefined when there is no such variable. */
  readonly facts?: readonly string[];
}

/** Something wrong with an expression; `offset` counts characters into it. */
export interface ExpressionProblem {
  readonly offset: number;
  readonly message: string;
}

/** A name and where it stands in the expression. */
interface Link {
  readonly name: string;
  readonly offset: number;
}

/** `a.b["c"]` as its names; undefined for anything else. */
export const chainOf = (node: ASTNode): readonly Link[] | undefined => {
  if (node.op === 'id') return [{ name: node.args, offset: node.start }];
  if (node.op !== '.' && node.op !== '[]') return undefined;
  const before = chainOf(node.args[0]);
  if (!before) return undefined;
  if (node.op === '.') {
    const [target, name] = node.args;
    return [...before, { name, offset: node.input.indexOf(name, target.end) }];
  }
  const key = node.args[1];
  return key.op === 'value' && typeof key.args === 'string'
    ? [...before, { name: key.args, offset: key.start }]
    : undefined;
};

const unknown = ({ offset, name }: Link, what: string, known: readonly string[]): ExpressionProblem => ({
  offset,
  message: [`unknown ${what} '${name}'`, suggest(name, known)].filter(Boolean).join('; '),
});

const checkChain = (
  [root, first, second]: readonly (Link | undefined)[],
  names: Names,
): readonly ExpressionProblem[] => {
  const roots = ['inputs', 'cluster', 'steps', ...(names.facts ? ['facts'] : [])];
  if (!root) return [];
  if (!roots.includes(root.name)) return [unknown(root, 'variable', roots)];
  if (!first) return [];
  const oneOf = (what: string, known: readonly string[]): readonly ExpressionProblem[] =>
    known.includes(first.name) ? [] : [unknown(first, what, known)];
  if (root.name === 'inputs') return oneOf('input', Object.keys(names.inputs));
  if (root.name === 'cluster') return oneOf('property of the cluster', names.cluster);
  if (root.name === 'facts') return oneOf('fact', names.facts ?? []);
  const outputs = Object.hasOwn(names.steps, first.name) ? names.steps[first.name] : undefined;
  if (!outputs) return [unknown(first, 'earlier step', Object.keys(names.steps))];
  return second === undefined || outputs.includes(second.name)
    ? []
    : [unknown(second, `output of step '${first.name}'`, outputs)];
};

const LOOPS = ['all', 'exists', 'exists_one', 'filter', 'map'];
/** Three lists written out and nested could hold a run for hours. */
const MOST_LOOPS = 2;

/** Calls that are known to CEL and have no place in a cookbook, with what to use instead. */
const checkCall = (name: string, node: ASTNode, args: readonly ASTNode[]): readonly ExpressionProblem[] => {
  const complain = (message: string): readonly ExpressionProblem[] => [{ offset: node.start, message }];
  // A regular expression could hold a run for minutes: there is no linear-time engine here.
  if (name === 'matches')
    return complain("'matches' is not available; use ==, in, startsWith, endsWith or contains");
  if (name === 'duration') return complain('\'duration\' is not available; use days("30d") or millis("30d")');
  const [text] = args;
  if ((name === 'days' || name === 'millis') && text?.op === 'value' && typeof text.args === 'string') {
    try {
      parseDuration(text.args);
    } catch (thrown) {
      return [{ offset: text.start, message: messageOf(thrown) }];
    }
  }
  return [];
};

/** The nodes below a node, whatever its operator. */
export const childrenOf = (node: ASTNode): readonly ASTNode[] =>
  [node.args]
    .flat(3)
    .filter((part): part is ASTNode => typeof part === 'object' && part !== null && 'op' in part);

interface Surroundings {
  readonly names: Names;
  /** Variables of the loops around. */
  readonly bound: ReadonlySet<string>;
  readonly loops: number;
}

/** Everything that is wrong with the names of an expression and the calls it makes. */
export const checkNames = (node: ASTNode, around: Surroundings | Names): readonly ExpressionProblem[] => {
  const surroundings = 'bound' in around ? around : { names: around, bound: new Set<string>(), loops: 0 };
  const { names, bound, loops } = surroundings;
  const chain = chainOf(node);
  if (chain) return bound.has(chain[0]?.name ?? '') ? [] : checkChain(chain, names);
  if (node.op === 'call') {
    const [name, args] = node.args;
    return [...checkCall(name, node, args), ...args.flatMap((part) => checkNames(part, surroundings))];
  }
  if (node.op !== 'rcall') return childrenOf(node).flatMap((part) => checkNames(part, surroundings));
  const [name, target, args] = node.args;
  const [variable, ...rest] = args;
  const isLoop = LOOPS.includes(name) && variable?.op === 'id' && rest.length > 0;
  if (!isLoop)
    return [
      ...checkCall(name, node, args),
      ...[target, ...args].flatMap((part) => checkNames(part, surroundings)),
    ];
  if (loops === MOST_LOOPS)
    return [{ offset: node.start, message: `'${name}' inside ${MOST_LOOPS} others; that is too deep` }];
  const inner = { names, bound: new Set([...bound, variable.args]), loops: loops + 1 };
  return [...checkNames(target, surroundings), ...rest.flatMap((part) => checkNames(part, inner))];
};
