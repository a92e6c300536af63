import { Draft, type Plan } from '../changes/plan.js';
import { CertrollError, EXIT, messageOf } from '../core/errors.js';
import { schemaProblems } from '../core/schema-problems.js';
import { evaluate, interpolate, type Scope } from '../cookbook/expression.js';
import type { Inputs } from '../cookbook/inputs.js';
import type { Cookbook, CookbookStep } from '../cookbook/load.js';
import { expandHosts } from '../hosts/expression.js';
import type { Site, Step } from '../steps/step.js';
import type { World } from '../trust/world.js';

export interface PlanOptions {
  readonly cookbook: Cookbook;
  readonly inputs: Inputs;
  readonly steps: ReadonlyMap<string, Step>;
  readonly site: Site;
}

const wrong = (step: CookbookStep, text: string): CertrollError =>
  new CertrollError(`${step.where}: step ${step.id}: ${text}`, {
    code: 'cookbook.invalid',
    exit: EXIT.usage,
  });

const inStep = <T>(step: CookbookStep, what: string, get: () => T): T => {
  try {
    return get();
  } catch (thrown) {
    if (thrown instanceof CertrollError && thrown.exit !== EXIT.usage) throw thrown;
    throw wrong(step, `${what}: ${messageOf(thrown)}`);
  }
};

const isTrue = (step: CookbookStep, what: string, condition: string | boolean, scope: Scope): boolean => {
  const value =
    typeof condition === 'boolean' ? condition : inStep(step, what, () => evaluate(condition, scope));
  if (typeof value !== 'boolean')
    throw wrong(step, `${what} is ${JSON.stringify(value)}, neither true nor false`);
  return value;
};

/** The hosts a step is limited to: control planes of the cluster file, in its order. */
const hostsOf = (step: CookbookStep, site: Site, scope: Scope): readonly string[] => {
  if (step.hosts === undefined) return site.hosts;
  const wanted = inStep(step, 'hosts', () => expandHosts(String(interpolate(step.hosts, scope))));
  const stranger = wanted.find((name) => !site.hosts.includes(name));
  if (stranger !== undefined)
    throw wrong(step, `hosts: ${stranger} is not a control plane of the cluster file`);
  return site.hosts.filter((name) => wanted.includes(name));
};

/** The settings of a step, their expressions evaluated. */
const readSettings = (entry: CookbookStep, step: Step, scope: Scope): unknown => {
  const settings = inStep(entry, 'with', () => interpolate(entry.with ?? {}, scope));
  const parsed = step.withSchema.safeParse(settings);
  if (parsed.success) return parsed.data;
  const problems = schemaProblems(parsed.error, step.withSchema, settings);
  throw wrong(entry, `with: ${problems.map(({ message }) => message).join('; ')}`);
};

/**
 * Draws up the plan of a cookbook: each step is planned on the world that the steps before it are predicted to leave,
 * and its condition, settings and gate are evaluated there. Pure. Throws `cookbook.invalid`, `plan.refused`.
 */
export const makePlan = (world: World, { cookbook, inputs, steps, site }: PlanOptions): Plan => {
  const draft = new Draft(world);
  const outputs: Record<string, Readonly<Record<string, unknown>>> = {};
  const scope: Scope = {
    inputs,
    cluster: { name: world.cluster, mode: site.mode, controlPlanes: [...site.hosts] },
    steps: outputs,
  };
  for (const entry of cookbook.steps) {
    // A step that was left out has no outputs; an expression that needs one fails with its name.
    outputs[entry.id] = {};
    if (entry.when !== undefined && !isTrue(entry, 'when', entry.when, scope)) continue;
    const step = steps.get(entry.uses);
    if (!step) throw wrong(entry, `there is no step ${entry.uses}`);
    const given = readSettings(entry, step, scope);
    draft.startStep(entry.uses);
    outputs[entry.id] = step.plan(draft, given, { ...site, hosts: hostsOf(entry, site, scope) });
    if (entry.gate && !isTrue(entry, 'gate', entry.gate.expression, scope)) {
      throw new CertrollError(
        `${entry.where}: the gate of step ${entry.id} refuses the plan: ${entry.gate.message}`,
        {
          code: 'gate.refused',
          exit: EXIT.refused,
          hint: 'Nothing was touched.',
        },
      );
    }
  }
  return draft.finish(cookbook.name);
};
