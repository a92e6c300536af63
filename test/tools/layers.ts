import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';

interface Rule {
  /** Layers that may be imported. */
  readonly may: readonly string[];
  /** Layers of which only types may be imported. */
  readonly types?: readonly string[];
  /** Does no I/O: packages and modules of Node only as listed in PURE_MODULES. */
  readonly isPure?: boolean;
}

const DOORS = ['issuers', 'hosts', 'etcd', 'kube'];

/** Every layer, top to bottom, and what it may import besides itself. */
const LAYERS: Readonly<Record<string, Rule>> = {
  cli: {
    may: [
      'run',
      'cookbook',
      'steps',
      'changes',
      'audit',
      'doctor',
      'init',
      'trust',
      'pem',
      'report',
      ...DOORS,
      'cluster',
      'core',
    ],
  },
  run: {
    may: [
      'cookbook',
      'steps',
      'changes',
      'audit',
      'doctor',
      'init',
      'trust',
      'pem',
      ...DOORS,
      'cluster',
      'core',
    ],
    types: ['report'],
  },
  cookbook: { may: ['steps', 'core'] },
  steps: { may: ['changes', 'trust', 'pem', 'core'], types: [...DOORS, 'cluster'], isPure: true },
  changes: { may: ['trust', 'pem', ...DOORS, 'cluster', 'core'] },
  report: { may: ['doctor', 'trust', 'core'], types: ['audit', 'init'] },
  audit: { may: ['pem', 'core'], types: DOORS, isPure: true },
  init: { may: ['core'], types: [...DOORS, 'cluster'], isPure: true },
  doctor: { may: ['pem', 'core'], types: DOORS, isPure: true },
  trust: { may: ['pem', 'core'], types: DOORS, isPure: true },
  issuers: { may: ['pem', 'cluster', 'core'] },
  hosts: { may: ['pem', 'cluster', 'core'] },
  etcd: { may: ['pem', 'cluster', 'core'] },
  kube: { may: ['pem', 'cluster', 'core'] },
  pem: { may: ['core'], types: DOORS, isPure: true },
  cluster: { may: ['core'], types: ['hosts'] },
  core: { may: [] },
};

/** Imports that go against the table on purpose. */
const EXCEPTIONS: readonly { readonly from: string; readonly to: string; readonly why: string }[] = [
  { from: 'trust', to: 'hosts/fold', why: 'a remedy names many processes; folding their names is pure' },
  {
    from: 'cluster',
    to: 'hosts/expression',
    why: 'the cluster file holds host expressions; the parser is pure',
  },
  { from: 'cookbook', to: 'hosts/expression', why: 'so do cookbooks' },
  { from: 'audit', to: 'kube/flags', why: 'what a process uses stands in its flags; the parser is pure' },
  { from: 'hosts', to: 'kube/flags', why: "kubelet's flags say which folder it watches; the parser is pure" },
  { from: 'init', to: 'kube/flags', why: 'what is proposed stands in the flags; the parser is pure' },
  { from: 'init', to: 'hosts/fold', why: 'hosts are written as an expression; folding is pure' },
  { from: 'report', to: 'hosts/fold', why: 'many nodes without a fault are told in one line' },
  { from: 'audit', to: 'hosts/redact', why: 'how a skeleton tells that it is not whole' },
];

/** What a pure layer may use that is not of the project. */
const PURE_MODULES = [
  'node:crypto',
  'node:net',
  'node:util',
  'node:buffer',
  'yaml',
  'zod',
  '@peculiar/x509',
  'reflect-metadata',
];

export interface Violation {
  readonly file: string;
  readonly line: number;
  readonly rule: string;
}

interface Import {
  readonly target: string;
  readonly isType: boolean;
  readonly position: number;
}

const isTypeOnly = (node: ts.ImportDeclaration | ts.ExportDeclaration): boolean => {
  if (ts.isExportDeclaration(node)) return node.isTypeOnly;
  const clause = node.importClause;
  if (!clause) return false;
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  const named = clause.namedBindings;
  return (
    clause.name === undefined &&
    named !== undefined &&
    ts.isNamedImports(named) &&
    named.elements.length > 0 &&
    named.elements.every((element) => element.isTypeOnly)
  );
};

/** Everything that a file imports: statements, re-exports, `import()` and `import('…')` in types. */
const importsOf = (source: ts.SourceFile): readonly Import[] => {
  const found: Import[] = [];
  const add = (node: ts.Node, literal: ts.Node | undefined, isType: boolean): void => {
    if (literal && ts.isStringLiteralLike(literal))
      found.push({ target: literal.text, isType, position: node.getStart(source) });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node))
      add(node, node.moduleSpecifier, isTypeOnly(node));
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
      add(node, node.argument.literal, true);
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
      add(node, node.arguments[0], false);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
};

/** What is wrong with one import; undefined when nothing is. `file` is relative to src/. */
const judge = (file: string, { target, isType }: Import): string | undefined => {
  const layer = file.split('/')[0] ?? '';
  const rule = LAYERS[layer];
  if (!rule) return `${layer} is not a layer`;
  if (!target.startsWith('.')) {
    const isForbidden = rule.isPure === true && !isType && !PURE_MODULES.includes(target);
    return isForbidden ? `${layer} does no I/O; it may not import ${target}` : undefined;
  }
  const path = join(file, '..', target).replace(/\.js$/, '');
  const other = path.split('/')[0] ?? '';
  if (other === layer || rule.may.includes(other)) return undefined;
  if (!(other in LAYERS)) return `${other} is not a layer`;
  if (EXCEPTIONS.some(({ from, to }) => from === layer && to === path)) return undefined;
  if (rule.types?.includes(other) !== true) return `${layer} may not import ${path}`;
  return isType ? undefined : `${layer} may import types only from ${path}`;
};

/** Checks one file's text; `file` is relative to src/. */
export const checkFile = (file: string, text: string): readonly Violation[] => {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  return importsOf(source).flatMap((each) => {
    const rule = judge(file, each);
    const line = source.getLineAndCharacterOfPosition(each.position).line + 1;
    return rule === undefined ? [] : [{ file, line, rule }];
  });
};

/** Checks every file below a src folder. */
export const checkTree = (src: string): readonly Violation[] =>
  readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .sort()
    .flatMap((name) => checkFile(name, readFileSync(join(src, name), 'utf8')));

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const violations = checkTree('src');
  for (const { file, line, rule } of violations) console.error(`src/${file}:${line}: ${rule}`);
  process.exitCode = violations.length > 0 ? 1 : 0;
}
