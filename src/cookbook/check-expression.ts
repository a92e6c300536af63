import type { Environment } from '@marcbachmann/cel-js';
import { clearMessage, MAX_LENGTH, newEnvironment } from './cel.js';
import { checkNames, type ExpressionProblem, type Names } from './names.js';
import { MIXTURE, piecesOf, soleExpression, UNCLOSED } from './template.js';

/** What an expression must give; `any` for a setting, whose step knows. */
export type Wanted = 'bool' | 'string' | 'any';

const CEL_TYPES = { string: 'string', duration: 'string', boolean: 'bool', number: 'dyn' } as const;

const schemaOf = <T>(entries: readonly (readonly [string, T])[]): Readonly<Record<string, T>> =>
  Object.fromEntries(entries);

const dyns = (keys: readonly string[]): Readonly<Record<string, string>> =>
  schemaOf(keys.map((key) => [key, 'dyn']));

/** CEL with the types of these names, so that `inputs.force > 3` is found before a run. */
const typedEnvironment = (names: Names): Environment => {
  const inputs = Object.entries(names.inputs).map(([name, type]) => [name, CEL_TYPES[type]] as const);
  const steps = Object.entries(names.steps).map(([id, outputs]) => [id, dyns(outputs)] as const);
  const cluster = names.cluster.map(
    (key) => [key, key === 'controlPlanes' ? 'list<string>' : 'string'] as const,
  );
  const environment = newEnvironment({ isTyped: true })
    .registerVariable({ name: 'inputs', schema: schemaOf(inputs) })
    .registerVariable({ name: 'cluster', schema: schemaOf(cluster) })
    .registerVariable({ name: 'steps', schema: schemaOf(steps) });
  return names.facts
    ? environment.registerVariable({ name: 'facts', schema: dyns(names.facts) })
    : environment;
};

const environments = new WeakMap<Names, Environment>();

const environmentOf = (names: Names): Environment => {
  const environment = environments.get(names) ?? typedEnvironment(names);
  environments.set(names, environment);
  return environment;
};

const problemOf = (thrown: unknown): ExpressionProblem => ({
  offset: (thrown as { readonly range?: { readonly start: number } }).range?.start ?? 0,
  message: clearMessage(thrown),
});

/** Checks what stands between `${{` and `}}`: its form, every name, the types as far as they are known. */
const checkSource = (source: string, names: Names, wanted: Wanted): readonly ExpressionProblem[] => {
  if (source.length > MAX_LENGTH)
    return [{ offset: 0, message: `an expression may have ${MAX_LENGTH} characters at most` }];
  try {
    const parsed = environmentOf(names).parse(source);
    const problems = checkNames(parsed.ast, names);
    if (problems.length > 0) return problems;
    const { error, type } = parsed.check();
    if (error) return [problemOf(error)];
    const isWrong = wanted !== 'any' && type !== undefined && type !== 'dyn' && type !== wanted;
    const expected = wanted === 'bool' ? 'true or false' : 'text';
    return isWrong ? [{ offset: parsed.ast.start, message: `this gives ${type}; expected ${expected}` }] : [];
  } catch (thrown) {
    return [problemOf(thrown)];
  }
};

const moved = (problems: readonly ExpressionProblem[], by: number): readonly ExpressionProblem[] =>
  problems.map(({ offset, message }) => ({ offset: offset + by, message }));

/** Checks a condition (with or without `${{ }}`) before anything is run. */
export const checkExpression = (
  text: string,
  names: Names,
  wanted: Wanted = 'bool',
): readonly ExpressionProblem[] => {
  const sole = soleExpression(text);
  if (!sole) return [{ offset: 0, message: MIXTURE }];
  if (sole.kind === 'unclosed') return [{ offset: sole.offset, message: UNCLOSED }];
  return moved(checkSource(sole.text, names, wanted), sole.offset);
};

/** Checks every `${{ }}` in a text; `wanted` is what a text that is one expression must give. */
export const checkText = (
  text: string,
  names: Names,
  wanted: Wanted = 'any',
): readonly ExpressionProblem[] => {
  const pieces = piecesOf(text);
  return pieces.flatMap((piece) => {
    if (piece.kind === 'plain') return [];
    if (piece.kind === 'unclosed') return [{ offset: piece.offset, message: UNCLOSED }];
    return moved(checkSource(piece.text, names, pieces.length === 1 ? wanted : 'any'), piece.offset);
  });
};
