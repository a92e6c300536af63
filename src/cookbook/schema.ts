import { z } from 'zod';

/** An expression in CEL, with or without `${{ }}` around it. */
const expression = z.union([z.string().min(1), z.boolean()]);

const name = z.string().regex(/^[a-z][a-z0-9-]*$/, 'lower-case letters, digits and dashes');

const input = z
  .strictObject({
    type: z.enum(['string', 'boolean', 'number', 'duration']),
    description: z.string().optional(),
    default: z.union([z.string(), z.boolean(), z.number()]).optional(),
    required: z.boolean().default(false),
    choices: z
      .array(z.union([z.string(), z.number()]))
      .min(1)
      .optional()
      .describe('The only values that may be given.'),
    pattern: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('A regular expression that the whole value must fit; for strings.'),
  })
  .describe('An input of the cookbook, given with --input NAME=VALUE.');

const step = z
  .strictObject({
    id: z
      .string()
      .regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/, 'letters, digits and underscores')
      .optional()
      .describe('Names the outputs of the step: steps.ID.OUTPUT.'),
    name: z.string().min(1).optional().describe('For people.'),
    uses: z.string().min(1).describe('The step, such as sa-keys/publish.'),
    with: z
      .record(z.string(), z.unknown())
      .optional()
      .describe("The step's own settings; strings may hold ${{ expressions }}."),
    hosts: z
      .string()
      .min(1)
      .optional()
      .describe('Host expression that limits the step to some of the control planes.'),
    when: expression.optional().describe('Leave the step out unless this is true.'),
    gate: z
      .strictObject({ expression, message: z.string().min(1) })
      .optional()
      .describe(
        'Refuse the plan, with this message, unless the expression is true after the step was planned.',
      ),
    finally: z
      .boolean()
      .default(false)
      .describe(
        'Done even when the run fails before it. Last in the cookbook, and only for steps that allow it.',
      ),
  })
  .describe('One step; it is planned on the world that the steps before it are predicted to leave.');

/** The form of a cookbook; names, inputs and expressions are checked on top of it. */
export const cookbookSchema = z.strictObject({
  name,
  description: z.string().min(1),
  inputs: z
    .record(z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/, 'letters, digits and underscores'), input)
    .prefault({}),
  steps: z.array(step).min(1),
});

export type CookbookFile = z.output<typeof cookbookSchema>;
export type InputSpec = z.output<typeof input>;
