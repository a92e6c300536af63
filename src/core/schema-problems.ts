import { z } from 'zod';
import type { YamlPath } from './yaml-nodes.js';
import { suggest } from './suggest.js';

/** A value that does not fit its schema, by its path; the position is found from it. */
export interface SchemaProblem {
  readonly path: YamlPath;
  /** Set when the problem is a key of the map at `path` rather than a value. */
  readonly key?: string;
  readonly message: string;
}

interface Json {
  readonly properties?: Readonly<Record<string, Json>>;
  readonly items?: Json;
  readonly anyOf?: readonly Json[];
  readonly oneOf?: readonly Json[];
  readonly additionalProperties?: Json | boolean;
}

const alternatives = (node: Json): readonly Json[] => [
  node,
  ...[...(node.anyOf ?? []), ...(node.oneOf ?? [])].flatMap(alternatives),
];

const child = (node: Json, part: string | number): readonly Json[] => {
  const rest = typeof node.additionalProperties === 'object' ? node.additionalProperties : undefined;
  const named = node.properties && Object.hasOwn(node.properties, part) ? node.properties[part] : undefined;
  const next = typeof part === 'number' ? node.items : (named ?? rest);
  return next ? alternatives(next) : [];
};

/** Keys that a schema knows at a path, read off its JSON form; for "did you mean". */
const knownKeys = (schema: z.ZodType, path: YamlPath): readonly string[] => {
  const top = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Json;
  const nodes = path.reduce<readonly Json[]>(
    (before, part) => before.flatMap((node) => child(node, part)),
    alternatives(top),
  );
  return [...new Set(nodes.flatMap((node) => Object.keys(node.properties ?? {})))];
};

/** The value at a path of plain data; `found` is false where there is none. */
const lookUp = (data: unknown, path: YamlPath): { readonly found: boolean; readonly value?: unknown } => {
  let value = data;
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return { found: false };
    value = (value as Record<string | number, unknown>)[part];
  }
  return { found: true, value };
};

const withHint = (message: string, hint: string): string => (hint === '' ? message : `${message}; ${hint}`);

const notOneOf = (where: string, value: unknown, options: readonly unknown[]): string => {
  const words = options.map(String);
  // Only what looks like a slip is repeated: anything longer may be a secret in the wrong place.
  if (typeof value !== 'string' || value.length > 40) return `${where}: expected one of ${words.join(', ')}`;
  const hint = suggest(value, words);
  return withHint(
    `${where}: '${value}' is not one of ${words.join(', ')}`,
    hint.startsWith('did') ? hint : '',
  );
};

/** The problems of the alternative of a union that came furthest: the one that was meant. */
const ofUnion = (issue: z.core.$ZodIssueInvalidUnion): readonly z.core.$ZodIssue[] => {
  const depth = (issues: readonly z.core.$ZodIssue[]): number =>
    Math.max(0, ...issues.map(({ path }) => path.length));
  const [best = []] = [...issue.errors].sort((a, b) => depth(b) - depth(a) || a.length - b.length);
  return best.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
};

const isMissing = (issue: z.core.$ZodIssue, data: unknown, path: YamlPath): boolean =>
  path.length > 0 && !lookUp(data, path).found && (issue.code !== 'custom' || issue.input === undefined);

/** What one zod issue means to the author of the file. */
const explain = (issue: z.core.$ZodIssue, schema: z.ZodType, data: unknown): readonly SchemaProblem[] => {
  const path = issue.path.filter((part) => typeof part !== 'symbol');
  const where = path.join('.') || 'the file';
  if (issue.code === 'unrecognized_keys') {
    const known = knownKeys(schema, path);
    const inside = path.length > 0 ? ` in ${where}` : '';
    return issue.keys.map((key) => ({
      path,
      key,
      message: withHint(`unknown key '${key}'${inside}`, suggest(key, known)),
    }));
  }
  const { found, value } = lookUp(data, path);
  if (isMissing(issue, data, path)) {
    const parent = path.slice(0, -1);
    const inside = parent.length > 0 ? ` in ${parent.join('.')}` : '';
    return [{ path, message: `'${String(path.at(-1))}' is missing${inside}` }];
  }
  if (found && value === null) return [{ path, message: `${where}: there is no value` }];
  if (issue.code === 'invalid_union') {
    const options = (issue as { readonly options?: unknown }).options;
    if (issue.errors.length === 0 && Array.isArray(options))
      return [{ path, message: notOneOf(where, value, options as readonly unknown[]) }];
    if (issue.errors.length > 0) return ofUnion(issue).flatMap((inner) => explain(inner, schema, data));
  }
  if (issue.code === 'invalid_value' && issue.values.length > 1)
    return [{ path, message: notOneOf(where, value, issue.values) }];
  if (issue.code === 'invalid_key') {
    const why = issue.issues.map(({ message }) => message).join(', ');
    return [
      {
        path: path.slice(0, -1),
        key: String(path.at(-1)),
        message: `the name '${String(path.at(-1))}': ${why}`,
      },
    ];
  }
  // YAML 1.2 reads yes and on as words.
  if (issue.code === 'invalid_type' && issue.expected === 'boolean')
    return [{ path, message: `${where}: write true or false, without quotes` }];
  return [{ path, message: `${where}: ${issue.message.replace(/^Invalid input: /, '')}` }];
};

/** Everything that keeps plain data from fitting a schema, in words and with paths. */
export const schemaProblems = (
  error: z.ZodError,
  schema: z.ZodType,
  data: unknown,
): readonly SchemaProblem[] => error.issues.flatMap((issue) => explain(issue, schema, data));

/** A copy of plain data without the values that have problems; of a list with one, without the list. */
export const withoutFaults = (data: unknown, problems: readonly SchemaProblem[]): unknown => {
  const copy: unknown = structuredClone(data);
  for (const { path, key } of problems) {
    const full = key === undefined ? [...path] : [...path, key];
    while (typeof full.at(-1) === 'number') full.pop();
    const { value: parent } = lookUp(copy, full.slice(0, -1));
    const last = full.at(-1);
    if (typeof parent === 'object' && parent !== null && last !== undefined)
      Reflect.deleteProperty(parent, last);
  }
  return copy;
};
