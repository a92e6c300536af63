import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BastionPaths } from './bastion-paths.js';
import { BASTION } from './settings.js';

/** For tests that make many restarts and judge something else than their pace. */
export const QUICK: readonly (readonly [RegExp, string])[] = [
  [/readyTimes: 2, settle: 3s/, 'readyTimes: 1, settle: 0s'],
];

/** A copy of the lab's cluster file with some of its text replaced, beside it. Throws when a pattern is not found. */
export const clusterFileWith = async (
  name: string,
  replacements: readonly (readonly [RegExp, string])[],
  bastion: BastionPaths = BASTION,
): Promise<string> => {
  let text = await readFile(bastion.clusterFile, 'utf8');
  for (const [pattern, replacement] of replacements) {
    if (!pattern.test(text)) throw new Error(`The lab's cluster file has nothing like ${pattern.source}`);
    text = text.replace(pattern, replacement);
  }
  const path = join(bastion.folder, `cluster-${name}.yaml`);
  await writeFile(path, text);
  return path;
};
