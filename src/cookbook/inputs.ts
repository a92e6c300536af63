import { parseDuration } from '../core/duration.js';
import { CertrollError, EXIT, messageOf } from '../core/errors.js';
import { suggest } from '../core/suggest.js';
import { requirePattern } from './pattern.js';
import type { InputSpec } from './schema.js';

export type InputValue = string | boolean | number;
export type Inputs = Readonly<Record<string, InputValue>>;

const wrong = (message: string, hint?: string): CertrollError =>
  new CertrollError(message, {
    code: 'usage.input',
    exit: EXIT.usage,
    ...(hint === undefined ? {} : { hint }),
  });

const readType = (type: InputSpec['type'], text: string): InputValue => {
  switch (type) {
    case 'boolean':
      if (text === 'true' || text === 'false') return text === 'true';
      throw new Error(`'${text}' is neither true nor false`);
    case 'number':
      if (/^-?\d{1,15}(\.\d+)?$/.test(text)) return Number(text);
      throw new Error(`'${text}' is not a number`);
    case 'duration':
      parseDuration(text);
      return text;
    case 'string':
      return text;
  }
};

/** Reads a value as the input's type wants it. Throws an Error that says what is expected. */
export const readInput = (spec: InputSpec, given: InputValue): InputValue => {
  const value = readType(spec.type, String(given));
  if (spec.choices && !spec.choices.map(String).includes(String(value)))
    throw new Error(`'${String(value)}' is not one of ${spec.choices.join(', ')}`);
  if (spec.pattern !== undefined) requirePattern(spec.pattern, String(value));
  return value;
};

/**
 * The inputs of a run: what was given, defaults for the rest. Throws `usage.input` (exit 2) for an unknown, missing or
 * wrong one.
 */
export const bindInputs = (
  cookbook: { readonly name: string; readonly inputs: Readonly<Record<string, InputSpec>> },
  given: Readonly<Record<string, InputValue>>,
): Inputs => {
  const names = Object.keys(cookbook.inputs);
  for (const name of Object.keys(given)) {
    if (!names.includes(name))
      throw wrong(
        `${cookbook.name} has no input '${name}'`,
        suggest(name, names) || `See certroll cookbook show ${cookbook.name}.`,
      );
  }
  const bound = new Map<string, InputValue>();
  for (const [name, spec] of Object.entries(cookbook.inputs)) {
    const value = Object.hasOwn(given, name) ? given[name] : spec.default;
    if (value === undefined) {
      if (spec.required)
        throw wrong(
          `${cookbook.name} needs the input '${name}'`,
          `Give it with --input ${name}=…${spec.description === undefined ? '' : ` (${spec.description})`}`,
        );
      continue;
    }
    try {
      bound.set(name, readInput(spec, value));
    } catch (thrown) {
      throw wrong(`input '${name}' of ${cookbook.name}: ${messageOf(thrown)}`);
    }
  }
  return Object.fromEntries(bound);
};
