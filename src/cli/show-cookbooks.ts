import { findCookbooks, loadCookbook } from '../cookbook/load.js';
import { CertrollError, EXIT } from '../core/errors.js';
import { renderTable } from '../report/table.js';
import { stepCatalog } from '../steps/catalog.js';
import type { CookbookFlags } from './commands/cookbook.js';
import { print } from './session.js';

const foldersOf = (flags: CookbookFlags): readonly string[] => ['cookbooks', ...flags.cookbookDir];

/** `certroll cookbook list`; one that cannot be loaded is listed with what is wrong. */
export const listCookbooks = async (flags: CookbookFlags): Promise<number> => {
  const rows = await Promise.all(
    [...findCookbooks(foldersOf(flags))].map(async ([name, file]) => {
      try {
        return { name, file, description: (await loadCookbook(file, [], stepCatalog)).description };
      } catch (thrown) {
        if (!(thrown instanceof CertrollError)) throw thrown;
        return { name, file, description: `cannot be used; see certroll cookbook validate ${name}` };
      }
    }),
  );
  print(
    flags.json === true
      ? JSON.stringify(rows)
      : renderTable([['COOKBOOK', 'WHAT IT DOES'], ...rows.map((row) => [row.name, row.description])]),
  );
  return EXIT.done;
};

/** `certroll cookbook show`. */
export const showCookbook = async (name: string, flags: CookbookFlags): Promise<number> => {
  const cookbook = await loadCookbook(name, foldersOf(flags), stepCatalog);
  if (flags.json === true) {
    print(JSON.stringify(cookbook));
    return EXIT.done;
  }
  print(`${cookbook.name} (${cookbook.file})\n${cookbook.description}`);
  const inputs = Object.entries(cookbook.inputs);
  if (inputs.length > 0) {
    const rows = inputs.map(([input, spec]) => [
      input,
      spec.choices?.join('|') ?? spec.type,
      spec.default === undefined ? (spec.required ? 'required' : '-') : String(spec.default),
      spec.description ?? '',
    ]);
    print(`\n${renderTable([['INPUT', 'TYPE', 'DEFAULT', 'WHAT IT IS'], ...rows])}`);
  }
  const steps = cookbook.steps.map((step, at) => [
    String(at + 1),
    step.uses,
    step.when === undefined ? '' : `when ${String(step.when)}`,
    step.name ?? stepCatalog.get(step.uses)?.summary ?? '',
  ]);
  print(`\n${renderTable([['STEP', 'USES', 'WHEN', 'WHAT IT DOES'], ...steps])}`);
  return EXIT.done;
};

/** `certroll cookbook validate`; every cookbook is checked before the first error ends it. */
export const validateCookbooks = async (names: readonly string[], flags: CookbookFlags): Promise<number> => {
  const results = await Promise.allSettled(
    names.map(async (name) => loadCookbook(name, foldersOf(flags), stepCatalog)),
  );
  const failures: unknown[] = [];
  for (const [at, result] of results.entries()) {
    if (result.status === 'fulfilled') print(`${names[at] ?? ''}: ok (${result.value.steps.length} steps)`);
    else failures.push(result.reason);
  }
  const texts = failures.map((reason) => {
    if (reason instanceof CertrollError) return reason.message;
    throw reason;
  });
  if (texts.length > 0)
    throw new CertrollError(texts.join('\n'), { code: 'cookbook.invalid', exit: EXIT.usage });
  return EXIT.done;
};
