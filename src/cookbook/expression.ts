import type { ASTNode } from '@marcbachmann/cel-js';
import { clearMessage, MAX_LENGTH, newEnvironment } from './cel.js';
import { chainOf, childrenOf } from './names.js';
import { MIXTURE, piecesOf, soleExpression, UNCLOSED } from './template.js';
import { asText, fromCel, toCel } from './values.js';

/** What an expression may name, with its values. */
export interface Scope {
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly cluster: Readonly<Record<string, unknown>>;
  /** Outputs of earlier steps, by step id; a step that was left out has none. */
  readonly steps: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly facts?: Readonly<Record<string, unknown>>;
}

/** Why a name has no value: an input that was not given, a step that was left out. */
const missingValue = (node: ASTNode, scope: Scope): string | undefined => {
  const [root, first, second] = chainOf(node)?.map(({ name }) => name) ?? [];
  if (root === 'inputs' && first !== undefined && !Object.hasOwn(scope.inputs, first))
    return `the input '${first}' was not given and has no default; has(inputs.${first}) tells`;
  const outputs = root === 'steps' && first !== undefined ? scope.steps[first] : undefined;
  return outputs && second !== undefined && !Object.hasOwn(outputs, second)
    ? `the step '${first ?? ''}' was left out, so it has no '${second}'; has(steps.${first ?? ''}.${second}) tells`
    : undefined;
};

const firstAnswer = (node: ASTNode, ask: (node: ASTNode) => string | undefined): string | undefined => {
  const answer = ask(node);
  if (answer !== undefined) return answer;
  for (const child of childrenOf(node)) {
    const below = firstAnswer(child, ask);
    if (below !== undefined) return below;
  }
  return undefined;
};

const untyped = newEnvironment({ isTyped: false });

const evaluateSource = (source: string, scope: Scope): unknown => {
  if (source.length > MAX_LENGTH) throw new Error(`an expression may have ${MAX_LENGTH} characters at most`);
  let ast: ASTNode | undefined;
  try {
    const parsed = untyped.parse(source);
    ({ ast } = parsed);
    return fromCel(parsed(toCel(scope) as Record<string, unknown>));
  } catch (thrown) {
    const message = clearMessage(thrown);
    const better =
      ast && message.startsWith('No such key')
        ? firstAnswer(ast, (node) => missingValue(node, scope))
        : undefined;
    throw new Error(better ?? message, { cause: thrown });
  }
};

/** Evaluates a condition that was checked. Throws an Error of one line when it cannot be evaluated. */
export const evaluate = (text: string, scope: Scope): unknown => {
  const sole = soleExpression(text);
  if (!sole) throw new Error(MIXTURE);
  if (sole.kind === 'unclosed') throw new Error(UNCLOSED);
  return evaluateSource(sole.text, scope);
};

const interpolateText = (text: string, scope: Scope): unknown => {
  const pieces = piecesOf(text);
  const [first] = pieces;
  if (pieces.some(({ kind }) => kind === 'unclosed')) throw new Error(UNCLOSED);
  if (pieces.length === 1 && first?.kind === 'expression') return evaluateSource(first.text, scope);
  return pieces
    .map((piece) => (piece.kind === 'plain' ? piece.text : asText(evaluateSource(piece.text, scope))))
    .join('');
};

/** Fills in the `${{ }}` of a value, at any depth. A text that is one expression and nothing else keeps its type. */
export const interpolate = (value: unknown, scope: Scope): unknown => {
  if (typeof value === 'string') return interpolateText(value, scope);
  if (Array.isArray(value)) return value.map((item) => interpolate(item, scope));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, interpolate(item, scope)]));
};
