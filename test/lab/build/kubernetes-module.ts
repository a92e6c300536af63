import { readFile } from 'node:fs/promises';
import { run } from '../shell.js';

/**
 * The go.mod to build Kubernetes' programs from the module proxy. Kubernetes requires the modules of its
 * staging area at v0.0.0, which exists nowhere: each needs a `replace` by the version published with that
 * release (v0.N.P for v1.N.P). All other requirements are taken over, so that the build has the versions
 * that the release was tested with.
 */
export const kubernetesModule = async (go: string, version: string, folder: string): Promise<string> => {
  // Outside of the folder: its go.mod may be half made by a build that was interrupted.
  const answer = await run([go, 'mod', 'download', '-json', `k8s.io/kubernetes@${version}`], {
    cwd: `${folder}/..`,
  });
  const { GoMod } = JSON.parse(answer) as { GoMod?: string };
  if (GoMod === undefined) throw new Error(`Go gave no go.mod for k8s.io/kubernetes@${version}`);
  return moduleFrom(await readFile(GoMod, 'utf8'), version);
};

const moduleFrom = (original: string, version: string): string => {
  const staged = version.replace(/^v1\./, 'v0.');
  const modules = new Set(
    [...original.matchAll(/^\s*(k8s\.io\/\S+) v0\.0\.0(?:\s|$)/gm)].map((match) => match[1] ?? ''),
  );
  const kept = original
    .replace(/^module .*$/m, 'module certroll.lab/kubernetes')
    .replace(/^replace \([^)]*\)$/gm, '')
    .replace(/^replace .*$/gm, '');
  const replaces = [...modules].sort().map((name) => `\t${name} => ${name} ${staged}`);
  return [kept, `require k8s.io/kubernetes ${version}`, 'replace (', ...replaces, ')', ''].join('\n');
};
