import { bindInputs, type InputValue } from '../cookbook/inputs.js';
import { loadCookbook } from '../cookbook/load.js';
import { CertrollError, EXIT } from '../core/errors.js';
import { makePlan } from '../run/plan.js';
import { stepCatalog } from '../steps/catalog.js';
import type { RunFlags } from './commands/run.js';
import { needsConsent, perform } from './perform.js';

const usage = (message: string, hint: string): CertrollError =>
  new CertrollError(message, { code: 'usage', exit: EXIT.usage, hint });

const givenInputs = (flags: RunFlags): Readonly<Record<string, InputValue>> => {
  const given: Record<string, InputValue> = {};
  for (const text of flags.input ?? []) {
    const equals = text.indexOf('=');
    if (equals < 1) throw usage(`--input ${text}`, 'Write it as NAME=VALUE.');
    given[text.slice(0, equals)] = text.slice(equals + 1);
  }
  return flags.force === true ? { ...given, force: true } : given;
};

/** `certroll run` and `certroll plan`; resolves to the exit status. */
export const runCookbook = async (name: string, flags: RunFlags): Promise<number> => {
  const cookbook = await loadCookbook(name, ['cookbooks', ...flags.cookbookDir], stepCatalog);
  const inputs = bindInputs(cookbook, givenInputs(flags));
  const steps = cookbook.steps.flatMap(({ uses }) => stepCatalog.get(uses) ?? []);
  // A cookbook that adds nothing but findings needs nobody to agree.
  const reportsOnly = steps.every((step) => step.reportsOnly === true);
  if (!reportsOnly) needsConsent(flags);
  return perform(flags, () =>
    Promise.resolve({
      name: cookbook.name,
      inputs,
      reportsOnly,
      observes: { legacyTokens: steps.some(({ observes }) => observes?.includes('legacy-tokens') === true) },
      makePlan: ({ world }, site) => makePlan(world, { cookbook, inputs, steps: stepCatalog, site }),
    }),
  );
};
