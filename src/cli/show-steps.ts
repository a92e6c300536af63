import { z } from 'zod';
import { EXIT } from '../core/errors.js';
import { renderTable } from '../report/table.js';
import { stepCatalog } from '../steps/catalog.js';
import { print } from './session.js';

/** One key of a step's `with`, as a cookbook's author needs it. */
interface Setting {
  readonly key: string;
  /** `boolean`, or the values there are: `stale|all`. */
  readonly type: string;
  readonly default: string | number | boolean | undefined;
  readonly description: string;
}

interface Property {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly default?: string | number | boolean;
  readonly description?: string;
}

/** The settings of a step, read off the schema that cookbooks are checked with. */
const settingsOf = (schema: z.ZodType): readonly Setting[] => {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as {
    readonly properties?: Readonly<Record<string, Property>>;
  };
  return Object.entries(properties).map(([key, property]) => ({
    key,
    type: property.enum?.map(String).join('|') ?? property.type ?? 'any',
    default: property.default,
    description: property.description ?? '',
  }));
};

/** `certroll cookbook steps`: what a cookbook may use, with what settings. */
export const showSteps = (flags: { readonly json?: boolean }): number => {
  const steps = [...stepCatalog].map(([step, { summary, withSchema, outputs }]) => ({
    step,
    summary,
    with: settingsOf(withSchema),
    outputs,
  }));
  if (flags.json === true) {
    print(JSON.stringify(steps));
    return EXIT.done;
  }
  const rows = steps.flatMap(({ step, summary, with: settings, outputs }) => [
    [step, '', '', summary + (outputs.length > 0 ? `; gives ${outputs.join(', ')}` : '')],
    ...settings.map((setting) => [
      '',
      setting.key,
      setting.default === undefined ? setting.type : `${setting.type} (${String(setting.default)})`,
      setting.description,
    ]),
  ]);
  print(renderTable([['STEP', 'WITH', 'TYPE (DEFAULT)', 'WHAT IT DOES'], ...rows]));
  return EXIT.done;
};
