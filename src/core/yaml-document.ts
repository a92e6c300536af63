import { readFileSync } from 'node:fs';
import { isMap, isNode, isPair, isScalar, LineCounter, parseDocument, type Document } from 'yaml';
import type { z } from 'zod';
import { CertrollError, EXIT, messageOf } from './errors.js';
import { suggest } from './suggest.js';

/** 1-based. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface Problem {
  readonly position: Position;
  readonly message: string;
}

export type YamlPath = readonly (string | number)[];

/** A YAML text that fits its schema, and where each part of it stands. */
export interface YamlDocument<T> {
  readonly file: string;
  readonly value: T;
  /** Where a value stands; of a missing one, where its parent does. `offset` counts characters into a scalar. */
  positionOf(path: YamlPath, offset?: number): Position;
  /** The error for problems found later, in the same form. */
  error(problems: readonly Problem[]): CertrollError;
}

interface Source {
  readonly file: string;
  readonly text: string;
  readonly code: string;
}

const showProblem = ({ file, text }: Source, { position, message }: Problem): string => {
  const line = text.split('\n')[position.line - 1]?.replace(/\r$/, '') ?? '';
  const caret = ' '.repeat(Math.max(0, position.column - 1));
  return `${file}:${position.line}:${position.column}: ${message}\n    ${line}\n    ${caret}^`;
};

const fileError = (source: Source, problems: readonly Problem[]): CertrollError => {
  const sorted = [...problems].sort(
    (a, b) => a.position.line - b.position.line || a.position.column - b.position.column,
  );
  return new CertrollError(sorted.map((problem) => showProblem(source, problem)).join('\n'), {
    code: source.code,
    exit: EXIT.usage,
  });
};

const START: Position = { line: 1, column: 1 };

const positionAt = (counter: LineCounter, offset: number): Position => {
  const { line, col } = counter.linePos(offset);
  return line === 0 ? START : { line, column: col };
};

/** Where the value at `path` starts, or the nearest parent that exists. */
const findPosition = (document: Document, counter: LineCounter, path: YamlPath, offset = 0): Position => {
  for (let length = path.length; length >= 0; length -= 1) {
    const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    if (!isNode(node) || !node.range) continue;
    const quoted = isScalar(node) && (node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE') ? 1 : 0;
    const into = length === path.length && offset > 0 ? offset + quoted : 0;
    return positionAt(counter, Math.min(node.range[0] + into, node.range[1]));
  }
  return START;
};

/** Where the key of a map entry stands, rather than its value. */
const keyPosition = (document: Document, counter: LineCounter, path: YamlPath, key: string): Position => {
  const map = path.length === 0 ? document.contents : document.getIn(path, true);
  const pair = isMap(map)
    ? map.items.find((item) => isPair(item) && isScalar(item.key) && item.key.value === key)
    : undefined;
  const node = pair?.key;
  return isNode(node) && node.range
    ? positionAt(counter, node.range[0])
    : findPosition(document, counter, path);
};

/** Keys that the schema knows at a path, read off its JSON form; for "did you mean". */
const knownKeys = (schema: unknown, path: YamlPath): readonly string[] => {
  type Json = {
    properties?: Record<string, Json>;
    items?: Json;
    anyOf?: Json[];
    oneOf?: Json[];
    additionalProperties?: Json;
  };
  const step = (nodes: readonly Json[], part: string | number): readonly Json[] =>
    nodes.flatMap((node) => {
      const next =
        typeof part === 'number' ? node.items : (node.properties?.[part] ?? node.additionalProperties);
      return next ? spread(next) : [];
    });
  const spread = (node: Json): readonly Json[] => [
    node,
    ...[...(node.anyOf ?? []), ...(node.oneOf ?? [])].flatMap(spread),
  ];
  const nodes = path.reduce(step, spread(schema as Json));
  return [...new Set(nodes.flatMap((node) => Object.keys(node.properties ?? {})))];
};

const issueProblems = async (
  issue: z.core.$ZodIssue,
  schema: z.ZodType,
  document: Document,
  counter: LineCounter,
): Promise<readonly Problem[]> => {
  const path = issue.path.filter((part): part is string | number => typeof part !== 'symbol');
  if (issue.code === 'unrecognized_keys') {
    const { z: zod } = await import('zod');
    const known = knownKeys(zod.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }), path);
    return issue.keys.map((key) => ({
      position: keyPosition(document, counter, path, key),
      message: [`unknown key '${key}'${path.length > 0 ? ` in ${path.join('.')}` : ''}`, suggest(key, known)]
        .filter(Boolean)
        .join('; '),
    }));
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    // The alternative that came furthest is the one that was meant.
    const best = [...issue.errors].sort((a, b) => a.length - b.length)[0] ?? [];
    const nested = best.map(
      (inner) => ({ ...inner, path: [...issue.path, ...inner.path] }),
    );
    if (nested.length > 0)
      return (
        await Promise.all(nested.map(async (inner) => issueProblems(inner, schema, document, counter)))
      ).flat();
  }
  const missing = document.getIn(path, true) === undefined && path.length > 0;
  const where = path.join('.') || 'the file';
  return [
    {
      position: findPosition(document, counter, path),
      message: missing
        ? `'${where}' is missing`
        : `${where}: ${issue.message.replace(/^Invalid input: /, '')}`,
    },
  ];
};

const readText = (file: string, code: string): string => {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (cause) {
    throw new CertrollError(`cannot read ${file}: ${messageOf(cause).replace(/^[A-Z]+: /, '')}`, {
      code,
      exit: EXIT.usage,
      cause,
    });
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new CertrollError(`${file}:1:1: this is not UTF-8 text`, { code, exit: EXIT.usage, cause });
  }
};

/**
 * Loads a YAML (or JSON) file that must fit a schema. Throws one error of `code` (exit 2) that lists every problem with
 * line, column, the line itself and a hint. Duplicate keys, unknown tags and aliases that lead nowhere are errors.
 */
export const loadYaml = async <T>(
  file: string,
  schema: z.ZodType<T>,
  code: string,
): Promise<YamlDocument<T>> => {
  const source: Source = { file, text: readText(file, code), code };
  const counter = new LineCounter();
  const document = parseDocument(source.text, {
    lineCounter: counter,
    prettyErrors: false,
    uniqueKeys: true,
  });
  const broken = [...document.errors, ...document.warnings];
  if (broken.length > 0) {
    throw fileError(
      source,
      broken.map((error) => ({ position: positionAt(counter, error.pos[0]), message: error.message })),
    );
  }
  let plain: unknown;
  try {
    plain = document.toJS({ maxAliasCount: 100 });
  } catch (thrown) {
    throw fileError(source, [{ position: START, message: messageOf(thrown) }]);
  }
  if (plain === null || plain === undefined)
    throw fileError(source, [{ position: START, message: 'the file is empty' }]);
  const parsed = schema.safeParse(plain);
  if (!parsed.success) {
    const problems = await Promise.all(
      parsed.error.issues.map(async (issue) => issueProblems(issue, schema, document, counter)),
    );
    throw fileError(source, problems.flat());
  }
  return {
    file,
    value: parsed.data,
    positionOf: (path, offset) => findPosition(document, counter, path, offset),
    error: (problems) => fileError(source, problems),
  };
};
