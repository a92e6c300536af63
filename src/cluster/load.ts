import { dirname, resolve } from 'node:path';
import { messageOf } from '../core/errors.js';
import { offsetIn } from '../core/source-text.js';
import { loadYamlParts, type Problem, type YamlDocument } from '../core/yaml-document.js';
import { expandHosts } from '../hosts/expression.js';
import { problemsWithSettings } from './checks.js';
import { problemWithFile, resolveFiles } from './files.js';
import { clusterFileSchema, type ClusterFile } from './schema.js';
import { problemsWithServices } from './services.js';

export { serviceSpec } from './services.js';

/** A cluster file, checked: hosts expanded, paths absolute, the files it names there and safe, durations in bounds. */
export interface Cluster extends ClusterFile {
  /** Folder of the cluster file, absolute. */
  readonly baseDir: string;
  readonly hosts: {
    readonly controlPlanes: readonly string[];
    readonly nodes: readonly string[];
  };
}

/** Hosts in the order of the file, and what is wrong with the expression that names them. */
interface HostSet {
  readonly names: readonly string[];
  readonly problems: readonly Problem[];
}

const hostsOf = (document: YamlDocument<Partial<ClusterFile>>, key: 'controlPlanes' | 'nodes'): HostSet => {
  const expression = document.value[key]?.hosts;
  if (expression === undefined) return { names: [], problems: [] };
  try {
    return { names: expandHosts(expression), problems: [] };
  } catch (thrown) {
    const message = messageOf(thrown);
    const position = document.positionOf([key, 'hosts'], offsetIn(message));
    return { names: [], problems: [{ position, message }] };
  }
};

/** One machine under two names would be restarted twice, or count as two verifiers. */
const twoNames = (names: readonly string[]): readonly [string, string] | undefined => {
  const seen = new Map<string, string>();
  for (const name of names) {
    const lower = name.toLowerCase();
    const short = lower.split('.')[0] ?? lower;
    const other = seen.get(lower) ?? (lower === short ? seen.get(`${short}.`) : seen.get(short));
    if (other !== undefined) return [other, name];
    seen.set(lower, name);
    if (lower !== short) seen.set(`${short}.`, name);
  }
  return undefined;
};

const problemsWithHosts = (
  document: YamlDocument<Partial<ClusterFile>>,
  controlPlanes: readonly string[],
  nodes: readonly string[],
): readonly Problem[] => {
  const both = nodes.find((name) => controlPlanes.includes(name));
  if (both !== undefined) {
    const position = document.positionOf(['nodes', 'hosts']);
    return [{ position, message: `${both} is a control plane already; nodes names the other hosts only` }];
  }
  const same = twoNames([...controlPlanes, ...nodes]);
  if (same === undefined) return [];
  const key = controlPlanes.includes(same[1]) ? 'controlPlanes' : 'nodes';
  return [
    {
      position: document.positionOf([key, 'hosts']),
      message: `${same[0]} and ${same[1]} look like one host under two names`,
    },
  ];
};

/** Loads and checks a cluster file. Throws `cluster-file.invalid` (exit 2) with every problem, its line and column. */
export const loadCluster = async (path: string): Promise<Cluster> => {
  const document = await loadYamlParts(path, clusterFileSchema, 'cluster-file.invalid');
  const baseDir = dirname(resolve(path));
  const controlPlanes = hostsOf(document, 'controlPlanes');
  const nodes = hostsOf(document, 'nodes');
  const { named } = resolveFiles(document.fitting, baseDir);
  const problems = [
    ...document.problems,
    ...controlPlanes.problems,
    ...nodes.problems,
    ...problemsWithHosts(document, controlPlanes.names, nodes.names),
    ...problemsWithSettings(document, controlPlanes.names),
    ...problemsWithServices(document),
    ...named.flatMap((each) => {
      const message = problemWithFile(each);
      return message === undefined ? [] : [{ position: document.positionOf(each.path), message }];
    }),
  ];
  if (problems.length > 0 || document.whole === undefined) throw document.error(problems);
  return {
    ...resolveFiles(document.whole, baseDir).value,
    baseDir,
    hosts: { controlPlanes: controlPlanes.names, nodes: nodes.names },
  };
};
