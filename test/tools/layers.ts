import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Layers from top to bottom; those of one group do not know each other. An import may only go to a later group. */
const LAYERS: readonly (readonly string[])[] = [
  ['cli'],
  ['run'],
  ['report', 'cookbook'],
  ['steps'],
  ['changes'],
  ['trust'],
  ['hosts', 'etcd', 'kube', 'issuers'],
  ['pem'],
  ['cluster'],
  ['core'],
];

/** Imports that go up on purpose, with the reason. */
const EXCEPTIONS: readonly { readonly from: RegExp; readonly to: string; readonly why: string }[] = [
  {
    from: /^cluster\//,
    to: 'hosts/expression',
    why: 'the cluster file holds host expressions; the parser is pure',
  },
  { from: /^cluster\//, to: 'hosts/host', why: 'types only: how a service is found' },
];

/** Layers that do no I/O. */
const PURE = ['trust', 'pem', 'steps'];
const IO =
  /^(node:)?(fs|net|tls|http|https|child_process|dgram|dns|os|worker_threads)(\/|$)|^(ssh2|etcd3|execa|@kubernetes\/client-node)$/;

export interface Violation {
  readonly file: string;
  readonly line: number;
  readonly rule: string;
}

const rank = (layer: string): number => LAYERS.findIndex((group) => group.includes(layer));

const IMPORT =
  /^\s*(?:import|export)\s+(type\s+)?(?:[^'"]*?from\s+)?['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)/;

/** What is wrong with one import; undefined when nothing is. `file` and the import are relative to src/. */
const judge = (file: string, target: string, isType: boolean): string | undefined => {
  const layer = file.split('/')[0] ?? '';
  if (!target.startsWith('.')) {
    return PURE.includes(layer) && !isType && IO.test(target)
      ? `${layer} does no I/O, and imports ${target}`
      : undefined;
  }
  const path = join(file, '..', target).replace(/\.js$/, '');
  const other = path.split('/')[0] ?? '';
  if (layer === other) return undefined;
  if (rank(other) < 0) return `${other} is not a layer`;
  if (EXCEPTIONS.some(({ from, to }) => from.test(file) && path === to)) return undefined;
  if (PURE.includes(layer) && !isType && ['hosts', 'etcd', 'kube', 'issuers'].includes(other))
    return `${layer} does no I/O, and imports ${path}`;
  return rank(other) > rank(layer) ? undefined : `${layer} may not import ${other} (${path})`;
};

/** Checks one file's text. */
export const checkFile = (file: string, text: string): readonly Violation[] => {
  // An import over several lines is judged as one.
  const joined = text.replace(
    /^(import|export)\s[^;]*?;/gms,
    (statement) => statement.replaceAll('\n', ' ') + '\n'.repeat(statement.split('\n').length - 1),
  );
  return joined.split('\n').flatMap((line, at) => {
    const found = IMPORT.exec(line);
    const target = found?.[2] ?? found?.[3];
    if (target === undefined) return [];
    const rule = judge(file, target, found?.[1] !== undefined);
    return rule === undefined ? [] : [{ file, line: at + 1, rule }];
  });
};

/** Checks every file below a src folder. */
export const checkTree = (src: string): readonly Violation[] =>
  readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => checkFile(relative(src, join(src, name)), readFileSync(join(src, name), 'utf8')));

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const violations = checkTree('src');
  for (const { file, line, rule } of violations) console.error(`src/${file}:${line}: ${rule}`);
  process.exitCode = violations.length > 0 ? 1 : 0;
}
