import { messageOf } from '../core/errors.js';
import { schemaProblems } from '../core/schema-problems.js';
import { offsetIn } from '../core/source-text.js';
import { suggest } from '../core/suggest.js';
import type { Problem, YamlDocument, YamlPath } from '../core/yaml-document.js';
import { expandHosts } from '../hosts/expression.js';
import { checkExpression, checkText } from './check-expression.js';
import type { ExpressionProblem, Names } from './names.js';
import type { CookbookFile } from './schema.js';
import type { StepInfo, StepInfos } from './step-info.js';
import { isDynamic } from './template.js';

type FileStep = CookbookFile['steps'][number];

/** What `cluster.` offers to expressions. */
const CLUSTER_NAMES = ['name', 'mode', 'controlPlanes'];

/** The id of a step: its own, or the last part of what it uses. A dash would be a minus in an expression. */
export const idOf = (step: FileStep): string =>
  step.id ?? (step.uses.split('/').at(-1) ?? step.uses).replaceAll(/[^A-Za-z0-9_]/g, '_');

interface Text {
  readonly text: string;
  readonly path: YamlPath;
}

/** Texts inside a value, with their paths. */
const textsOf = (value: unknown, path: YamlPath): readonly Text[] => {
  if (typeof value === 'string') return [{ text: value, path }];
  if (Array.isArray(value)) return value.flatMap((item, at) => textsOf(item, [...path, at]));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => textsOf(item, [...path, key]));
};

const valueAt = (value: unknown, path: YamlPath): unknown =>
  path.reduce<unknown>(
    (inside, part) => (inside as Readonly<Record<string | number, unknown>> | undefined)?.[part],
    value,
  );

/** Checks one step of a cookbook, given the names that the steps before it leave. */
class StepCheck {
  readonly problems: Problem[] = [];
  readonly #path: YamlPath;

  constructor(
    readonly document: YamlDocument<unknown>,
    readonly step: FileStep,
    at: number,
  ) {
    this.#path = ['steps', at];
  }

  complain(path: YamlPath, message: string): void {
    this.problems.push({ position: this.document.positionOf([...this.#path, ...path]), message });
  }

  complainWithin(path: YamlPath, found: readonly ExpressionProblem[]): void {
    for (const { offset, message } of found)
      this.problems.push({ position: this.document.positionOf([...this.#path, ...path], offset), message });
  }

  /** What the step's own schema says of its settings, except where an expression will give the value. */
  settings({ withSchema }: StepInfo): void {
    const given = this.step.with ?? {};
    const parsed = withSchema.safeParse(given);
    if (parsed.success) return;
    for (const { path, key, message } of schemaProblems(parsed.error, withSchema, given)) {
      if (key === undefined && isDynamic(valueAt(given, path))) continue;
      const full = [...this.#path, 'with', ...path];
      const position =
        key === undefined ? this.document.positionOf(full) : this.document.keyPositionOf([...full, key]);
      this.problems.push({ position, message: `${this.step.uses}: ${message}` });
    }
  }

  hosts(names: Names): void {
    const { hosts } = this.step;
    if (hosts === undefined) return;
    this.complainWithin(['hosts'], checkText(hosts, names, 'string'));
    if (isDynamic(hosts)) return;
    try {
      expandHosts(hosts);
    } catch (thrown) {
      const message = messageOf(thrown);
      this.complainWithin(['hosts'], [{ offset: offsetIn(message), message }]);
    }
  }

  expressions(names: Names, outputs: readonly string[]): void {
    for (const { text, path } of textsOf(this.step.with, ['with']))
      this.complainWithin(path, checkText(text, names));
    const { when, gate } = this.step;
    if (typeof when === 'string') this.complainWithin(['when'], checkExpression(when, names));
    // A gate is asked after its step was planned: it sees that step's outputs too.
    const after = { ...names, steps: { ...names.steps, [idOf(this.step)]: outputs } };
    if (typeof gate?.expression === 'string')
      this.complainWithin(['gate', 'expression'], checkExpression(gate.expression, after));
  }

  all(names: Names, steps: StepInfos): readonly Problem[] {
    const { uses } = this.step;
    const info = steps.get(uses);
    if (info) this.settings(info);
    else
      this.complain(
        ['uses'],
        [`unknown step '${uses}'`, suggest(uses, [...steps.keys()])].filter(Boolean).join('; '),
      );
    if (this.step.finally && info?.isFinal !== true)
      this.complain(
        ['finally'],
        `${uses} cannot be a 'finally' step: it would change things after a failure`,
      );
    this.hosts(names);
    this.expressions(names, info?.outputs ?? []);
    return this.problems;
  }
}

/** What is wrong with the steps of a cookbook: names, settings, expressions, order. */
export const problemsWithSteps = (
  document: YamlDocument<unknown>,
  cookbook: Pick<CookbookFile, 'inputs' | 'steps'>,
  steps: StepInfos,
): readonly Problem[] => {
  const problems: Problem[] = [];
  const inputs = Object.fromEntries(Object.entries(cookbook.inputs).map(([name, { type }]) => [name, type]));
  const outputs = new Map<string, readonly string[]>();
  let hasFinally = false;
  for (const [at, step] of cookbook.steps.entries()) {
    const check = new StepCheck(document, step, at);
    const names: Names = { inputs, cluster: CLUSTER_NAMES, steps: Object.fromEntries(outputs) };
    problems.push(...check.all(names, steps));
    const id = idOf(step);
    const key = step.id === undefined ? 'uses' : 'id';
    if (outputs.has(id)) {
      const hint = step.id === undefined ? '; give it an id of its own' : '';
      const position = document.positionOf(['steps', at, key]);
      problems.push({ position, message: `a step before this one has the id '${id}'${hint}` });
    }
    if (hasFinally && !step.finally) {
      const position = document.positionOf(['steps', at, key]);
      problems.push({ position, message: "only 'finally' steps may follow a 'finally' step" });
    }
    hasFinally ||= step.finally;
    outputs.set(id, steps.get(step.uses)?.outputs ?? []);
  }
  return problems;
};
