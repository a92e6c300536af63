import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { z } from 'zod';
import { CertrollError, EXIT } from '../core/errors.js';
import { suggest } from '../core/suggest.js';
import { loadYaml, type Problem, type YamlDocument, type YamlPath } from '../core/yaml-document.js';
import { checkExpression, checkText, type Names } from './expression.js';
import { readInput } from './inputs.js';
import { cookbookSchema, type CookbookFile } from './schema.js';

/** What of a step the language must know; the steps themselves are handed in. */
export interface StepInfo {
  readonly summary: string;
  readonly withSchema: z.ZodType;
  readonly outputs: readonly string[];
}

export type StepInfos = ReadonlyMap<string, StepInfo>;

export type CookbookStep = CookbookFile['steps'][number] & {
  readonly id: string;
  /** `FILE:LINE`, for messages while planning. */
  readonly where: string;
};

export interface Cookbook {
  readonly file: string;
  readonly name: string;
  readonly description: string;
  readonly inputs: CookbookFile['inputs'];
  readonly steps: readonly CookbookStep[];
}

/** What `cluster.` offers to expressions. */
export const CLUSTER_NAMES = ['name', 'mode', 'controlPlanes'] as const;

/** Where the cookbooks lie that certroll ships. */
export const SHIPPED = fileURLToPath(new URL('../../cookbooks', import.meta.url));

const isPath = (name: string): boolean => name.includes('/') || /\.ya?ml$/.test(name);

/** Every cookbook in the folders, by name; the first folder wins, the shipped ones come last. */
export const findCookbooks = (folders: readonly string[]): ReadonlyMap<string, string> => {
  const found = new Map<string, string>();
  for (const folder of [...folders, SHIPPED]) {
    if (!existsSync(folder)) continue;
    for (const file of readdirSync(folder).sort()) {
      const name = file.replace(/\.ya?ml$/, '');
      if (name !== file && !found.has(name)) found.set(name, join(folder, file));
    }
  }
  return found;
};

const locate = (name: string, folders: readonly string[]): string => {
  if (isPath(name)) return name;
  const found = findCookbooks(folders);
  const file = found.get(name);
  if (file !== undefined) return file;
  throw new CertrollError(`there is no cookbook '${name}'`, {
    code: 'cookbook.unknown',
    exit: EXIT.usage,
    hint: suggest(name, [...found.keys()]) || `Looked in ${[...folders, SHIPPED].join(', ')}.`,
  });
};

/** The id of a step: its own, or the last part of what it uses. */
const idOf = (step: CookbookFile['steps'][number]): string =>
  step.id ?? (step.uses.split('/').at(-1) ?? step.uses).replaceAll('-', '_');

/** Strings inside `with`, with their paths. */
const texts = (
  value: unknown,
  path: YamlPath,
): readonly { readonly text: string; readonly path: YamlPath }[] => {
  if (typeof value === 'string') return [{ text: value, path }];
  if (Array.isArray(value)) return value.flatMap((item, at) => texts(item, [...path, at]));
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, item]) => texts(item, [...path, key]));
  return [];
};

const checkInputs = (document: YamlDocument<CookbookFile>): readonly Problem[] =>
  Object.entries(document.value.inputs).flatMap(([name, spec]) => {
    if (spec.default === undefined) return [];
    try {
      readInput(spec, spec.default);
      return [];
    } catch (thrown) {
      return [
        {
          position: document.positionOf(['inputs', name, 'default']),
          message: `default of input '${name}': ${(thrown as Error).message}`,
        },
      ];
    }
  });

/** What is wrong with one step, given the names that the steps before it leave. */
const checkStep = (
  document: YamlDocument<CookbookFile>,
  at: number,
  names: Names,
  steps: StepInfos,
): readonly Problem[] => {
  const step = document.value.steps[at];
  if (!step) return [];
  const path: YamlPath = ['steps', at];
  const problems: Problem[] = [];
  const complain = (
    where: YamlPath,
    found: readonly { readonly offset: number; readonly message: string }[],
  ): void => {
    for (const { offset, message } of found)
      problems.push({ position: document.positionOf(where, offset), message });
  };
  const info = steps.get(step.uses);
  if (!info) {
    complain(
      [...path, 'uses'],
      [
        {
          offset: 0,
          message: [`unknown step '${step.uses}'`, suggest(step.uses, [...steps.keys()])]
            .filter(Boolean)
            .join('; '),
        },
      ],
    );
  }
  const known = info && 'shape' in info.withSchema ? Object.keys(info.withSchema.shape as object) : undefined;
  for (const key of Object.keys(step.with ?? {})) {
    if (known && !known.includes(key)) {
      complain(
        [...path, 'with', key],
        [
          {
            offset: 0,
            message: [`${step.uses} has no setting '${key}'`, suggest(key, known)].filter(Boolean).join('; '),
          },
        ],
      );
    }
  }
  for (const { text, path: where } of texts(step.with, [...path, 'with']))
    complain(where, checkText(text, names));
  if (step.hosts !== undefined) complain([...path, 'hosts'], checkText(step.hosts, names));
  if (typeof step.when === 'string') complain([...path, 'when'], checkExpression(step.when, names));
  const gate = step.gate?.expression;
  const own = { ...names, steps: { ...names.steps, [idOf(step)]: info?.outputs ?? [] } };
  if (typeof gate === 'string') complain([...path, 'gate', 'expression'], checkExpression(gate, own));
  return problems;
};

const checkSteps = (document: YamlDocument<CookbookFile>, steps: StepInfos): readonly Problem[] => {
  const problems: Problem[] = [];
  const outputs: Record<string, readonly string[]> = {};
  for (const [at, step] of document.value.steps.entries()) {
    const names: Names = {
      inputs: Object.keys(document.value.inputs),
      cluster: CLUSTER_NAMES,
      steps: { ...outputs },
    };
    problems.push(...checkStep(document, at, names, steps));
    const id = idOf(step);
    if (id in outputs) {
      const hint = step.id === undefined ? `; give it an id of its own` : '';
      problems.push({
        position: document.positionOf(['steps', at, step.id === undefined ? 'uses' : 'id']),
        message: `a step before this one has the id '${id}'${hint}`,
      });
    }
    outputs[id] = steps.get(step.uses)?.outputs ?? [];
  }
  return problems;
};

/**
 * Loads a cookbook by name or path and checks all that can be checked before a run: form, step names, their settings,
 * every name in every expression. Throws `cookbook.invalid` or `cookbook.unknown` (exit 2).
 */
export const loadCookbook = async (
  name: string,
  folders: readonly string[],
  steps: StepInfos,
): Promise<Cookbook> => {
  const file = locate(name, folders);
  const document = await loadYaml<CookbookFile>(file, cookbookSchema, 'cookbook.invalid');
  const problems = [...checkInputs(document), ...checkSteps(document, steps)];
  if (problems.length > 0) throw document.error(problems);
  const { value } = document;
  return {
    file,
    name: value.name,
    description: value.description,
    inputs: value.inputs,
    steps: value.steps.map((step, at) => ({
      ...step,
      id: idOf(step),
      where: `${file}:${document.positionOf(['steps', at]).line}`,
    })),
  };
};
