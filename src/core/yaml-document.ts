import { isAlias, isScalar, parseDocument, visit, type Alias, type Document } from 'yaml';
import { z } from 'zod';
import { messageOf, type CertrollError } from './errors.js';
import { schemaProblems, withoutFaults, type SchemaProblem } from './schema-problems.js';
import {
  positionAt,
  readSource,
  sourceError,
  START,
  type Position,
  type Problem,
  type SourceText,
} from './source-text.js';
import { nodeAt, offsetInScalar, pairAt, type YamlPath } from './yaml-nodes.js';

export type { Position, Problem } from './source-text.js';
export type { YamlPath } from './yaml-nodes.js';

/** A YAML text that fits its schema, and where each part of it stands. */
export interface YamlDocument<T> {
  readonly file: string;
  readonly value: T;
  /** Where a value stands; of a missing one, where its parent does. `offset` counts characters into a text
   * (0 is the first one, within the quotes). */
  positionOf(path: YamlPath, offset?: number): Position;
  /** Where the key of a value stands. */
  keyPositionOf(path: YamlPath): Position;
  /** The error for problems found later, in the same form. */
  error(problems: readonly Problem[]): CertrollError;
}

/** Aliases that may be used; expanded, a few lines of them could fill the memory. */
const MOST_ALIASES = 100;

/** The source and its tree: what positions are found with. */
class Tree {
  constructor(
    readonly source: SourceText,
    readonly document: Document.Parsed,
  ) {}

  keyPositionOf(path: YamlPath): Position {
    const key = pairAt(this.document, path)?.key;
    return isScalar(key) && key.range ? positionAt(this.source.text, key.range[0]) : this.positionOf(path);
  }

  positionOf(path: YamlPath, offset?: number): Position {
    const node = nodeAt(this.document, path);
    if (node?.range) {
      const isInto = offset !== undefined && isScalar(node);
      const at = isInto ? offsetInScalar(this.source.text, node, offset) : node.range[0];
      return positionAt(this.source.text, at);
    }
    return path.length === 0 ? START : this.keyPositionOf(path.slice(0, -1));
  }

  /** Where a problem with the schema stands: at the key when the key is wrong, else at the value. */
  locate({ path, key, message }: SchemaProblem): Problem {
    return {
      position: key === undefined ? this.positionOf(path) : this.keyPositionOf([...path, key]),
      message,
    };
  }
}

const problemWithAlias = (
  alias: Alias,
  ancestors: readonly unknown[],
  document: Document,
): string | undefined => {
  const target = alias.resolve(document);
  if (!target) return `there is no '&${alias.source}' before this '*${alias.source}'`;
  return ancestors.includes(target) ? `'*${alias.source}' stands inside what it stands for` : undefined;
};

/** What the parser lets through and a file for people should not hold. */
const problemsOfTree = ({ document, source }: Tree): readonly Problem[] => {
  const problems: Problem[] = [];
  const complain = (offset: number | undefined, message: string): void => {
    problems.push({ position: positionAt(source.text, offset ?? 0), message });
  };
  if (document.directives.yaml.version !== '1.2') complain(0, 'the file must be YAML 1.2');
  let aliases = 0;
  visit(document, (key, node, ancestors) => {
    if (isAlias(node)) {
      const message = problemWithAlias(node, ancestors, document);
      if (message !== undefined) complain(node.range?.[0], message);
      aliases += 1;
      if (aliases === MOST_ALIASES + 1) complain(node.range?.[0], `more than ${MOST_ALIASES} aliases`);
      if (aliases > MOST_ALIASES) return visit.BREAK;
    }
    // Such a key would reach into how JavaScript keeps objects, and checks would pass it over.
    if (key === 'key' && isScalar(node) && node.value === '__proto__')
      complain(node.range?.[0], "'__proto__' cannot be a key");
    return undefined;
  });
  return problems;
};

/** The words of the parser, where they need some help. */
const syntaxMessage = (message: string): string => {
  if (message.startsWith('Tabs are not allowed')) return 'tabs cannot indent; use spaces';
  if (message.startsWith('With stringKeys')) return 'a key must be plain text';
  if (message.startsWith('Source contains multiple documents')) return "one document only; remove the '---'";
  return message.replace(/^Unresolved tag: /, 'unknown tag ');
};

const parse = (source: SourceText): Tree => {
  const document = parseDocument(source.text, { prettyErrors: false, stringKeys: true });
  const syntax = [...document.errors, ...document.warnings].map((error) => ({
    position: positionAt(source.text, error.pos[0]),
    message: syntaxMessage(error.message),
  }));
  if (syntax.length > 0) throw sourceError(source, syntax);
  const tree = new Tree(source, document);
  const problems = problemsOfTree(tree);
  if (problems.length > 0) throw sourceError(source, problems);
  return tree;
};

const plainOf = ({ document, source }: Tree): unknown => {
  try {
    return document.toJS({ maxAliasCount: MOST_ALIASES });
  } catch (thrown) {
    const isBomb = messageOf(thrown).startsWith('Excessive alias count');
    const message = isBomb ? 'the aliases of this file multiply without bounds' : messageOf(thrown);
    throw sourceError(source, [{ position: START, message }]);
  }
};

const documentOf = <T>(tree: Tree, value: T): YamlDocument<T> => ({
  file: tree.source.file,
  value,
  positionOf: (path, offset) => tree.positionOf(path, offset),
  keyPositionOf: (path) => tree.keyPositionOf(path),
  error: (problems) => sourceError(tree.source, problems),
});

const read = async (
  file: string,
  code: string,
): Promise<{ readonly tree: Tree; readonly plain: unknown }> => {
  const source = await readSource(file, code);
  const tree = parse(source);
  const plain = plainOf(tree);
  if (plain === null || plain === undefined)
    throw sourceError(source, [{ position: START, message: 'the file is empty' }]);
  return { tree, plain };
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
  const { tree, plain } = await read(file, code);
  const parsed = schema.safeParse(plain);
  if (parsed.success) return documentOf(tree, parsed.data);
  const problems = schemaProblems(parsed.error, schema, plain);
  throw sourceError(
    tree.source,
    problems.map((problem) => tree.locate(problem)),
  );
};

/** A YAML text as far as it fits its schema, so that what a schema cannot say is told together with what it can. */
export interface YamlParts<T> extends YamlDocument<Partial<T>> {
  /** The text as a whole; undefined when any of it does not fit. */
  readonly whole: T | undefined;
  /** The data without what does not fit. */
  readonly fitting: unknown;
  /** What does not fit. */
  readonly problems: readonly Problem[];
  /** Top-level keys below which something does not fit: nothing may be said of what is missing there. */
  readonly flawed: ReadonlySet<string>;
}

/** Loads a file like `loadYaml`, but hands out what does not fit its schema. Throws where the file is no YAML. */
export const loadYamlParts = async <S extends z.ZodObject>(
  file: string,
  schema: S,
  code: string,
): Promise<YamlParts<z.output<S>>> => {
  const { tree, plain } = await read(file, code);
  const parsed = schema.safeParse(plain);
  if (parsed.success) {
    const { data } = parsed;
    return { ...documentOf(tree, data), whole: data, fitting: plain, problems: [], flawed: new Set() };
  }
  const problems = schemaProblems(parsed.error, schema, plain);
  const fitting = withoutFaults(plain, problems);
  const given = (fitting ?? {}) as Readonly<Record<string, unknown>>;
  const parts = Object.entries(schema.shape).flatMap(([key, part]) => {
    const fits = z.safeParse(part, given[key]);
    return fits.success ? [[key, fits.data] as const] : [];
  });
  return {
    ...documentOf(tree, Object.fromEntries(parts) as Partial<z.output<S>>),
    whole: undefined,
    fitting,
    problems: problems.map((problem) => tree.locate(problem)),
    flawed: new Set(problems.map(({ path, key }) => String(path[0] ?? key))),
  };
};
