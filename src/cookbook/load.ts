import { messageOf } from '../core/errors.js';
import { loadYamlParts, type Problem, type YamlDocument, type YamlPath } from '../core/yaml-document.js';
import { idOf, problemsWithSteps } from './check-steps.js';
import { locateCookbook } from './find.js';
import { readInput } from './inputs.js';
import { compilePattern } from './pattern.js';
import { cookbookSchema, type CookbookFile } from './schema.js';
import type { StepInfos } from './step-info.js';

export { findCookbooks } from './find.js';

export type CookbookStep = CookbookFile['steps'][number] & {
  readonly id: string;
  /** `FILE:LINE`, for messages while planning. */
  readonly where: string;
};

/** A cookbook, checked as far as it can be without a cluster. */
export interface Cookbook {
  readonly file: string;
  readonly name: string;
  readonly description: string;
  readonly inputs: CookbookFile['inputs'];
  readonly steps: readonly CookbookStep[];
}

/** What is wrong with the inputs: patterns, and choices and defaults that do not fit their own input. */
const problemsWithInputs = (
  document: YamlDocument<unknown>,
  inputs: CookbookFile['inputs'],
): readonly Problem[] => {
  const problems: Problem[] = [];
  const attempt = (path: YamlPath, what: string, action: () => unknown): boolean => {
    try {
      action();
      return true;
    } catch (thrown) {
      problems.push({
        position: document.positionOf(['inputs', ...path]),
        message: `${what}: ${messageOf(thrown)}`,
      });
      return false;
    }
  };
  for (const [name, spec] of Object.entries(inputs)) {
    const { pattern, choices, default: preset, required, type } = spec;
    const of = `of input '${name}'`;
    const isFit =
      pattern === undefined ||
      attempt([name, 'pattern'], `pattern ${of}`, () => {
        if (type !== 'string') throw new Error('a pattern is for strings');
        return compilePattern(pattern);
      });
    const bare = { type, required };
    for (const [at, choice] of (choices ?? []).entries())
      attempt([name, 'choices', at], `choice ${of}`, () => readInput(bare, choice));
    if (preset === undefined) continue;
    attempt([name, 'default'], `default ${of}`, () => readInput(isFit ? spec : bare, preset));
    if (required)
      attempt([name, 'required'], `input '${name}'`, () => {
        throw new Error('it has a default, so it is never missing; remove one of the two');
      });
  }
  return problems;
};

/** A cookbook found by its file's name would be another one in the journal. */
const problemsWithName = (
  document: YamlDocument<Partial<CookbookFile>>,
  asked: string,
): readonly Problem[] =>
  document.file !== asked && (document.value.name ?? asked) !== asked
    ? [
        {
          position: document.positionOf(['name']),
          message: `the file is named for '${asked}', so this must be '${asked}' too`,
        },
      ]
    : [];

/**
 * Loads a cookbook by name or path and checks all that can be checked before a run: form, step names, their settings,
 * every name in every expression. Throws `cookbook.invalid` or `cookbook.unknown` (exit 2).
 */
export const loadCookbook = async (
  name: string,
  folders: readonly string[],
  steps: StepInfos,
): Promise<Cookbook> => {
  const file = locateCookbook(name, folders);
  const document = await loadYamlParts(file, cookbookSchema, 'cookbook.invalid');
  const { value, flawed, whole } = document;
  // Of what does not even have its form nothing more is said, nor of what refers to it.
  const inputs = flawed.has('inputs') ? undefined : value.inputs;
  const known = flawed.has('steps') ? undefined : value.steps;
  const problems = [
    ...document.problems,
    ...problemsWithName(document, name),
    ...(inputs ? problemsWithInputs(document, inputs) : []),
    ...(inputs && known ? problemsWithSteps(document, { inputs, steps: known }, steps) : []),
  ];
  if (problems.length > 0 || whole === undefined) throw document.error(problems);
  return {
    file,
    name: whole.name,
    description: whole.description,
    inputs: whole.inputs,
    steps: whole.steps.map((step, at) => ({
      ...step,
      id: idOf(step),
      where: `${file}:${document.positionOf(['steps', at]).line}`,
    })),
  };
};
