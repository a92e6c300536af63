import { readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { CertrollError, EXIT } from '../core/errors.js';
import { loadYaml } from '../core/yaml-document.js';
import { readSource } from '../core/source-text.js';

/** A fleet file: clusters that are audited together. */
export const fleetFileSchema = z.strictObject({
  clusters: z
    .array(z.string().min(1))
    .min(1)
    .describe('Cluster files, relative to this file; a folder stands for all *.yaml and *.yml in it.'),
});

const inFolder = (folder: string): readonly string[] =>
  readdirSync(folder)
    .filter((name) => /\.ya?ml$/.test(name) && !name.startsWith('.'))
    .sort()
    .map((name) => join(folder, name));

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** Without reading all of it: a fleet file has `clusters` at its top level, a cluster file cannot. */
const isFleet = (text: string): boolean => /^(["']?)clusters\1[ \t]*:/m.test(text);

/**
 * The cluster files that a path stands for: one itself, all of a folder, those of a fleet file. Throws `cluster-file.invalid`
 * (exit 2) for a fleet file that is wrong, and when there is none at all; each cluster file is read later, by itself.
 */
export const clusterFiles = async (path: string): Promise<readonly string[]> => {
  const files = isFolder(path) ? inFolder(path) : await fromFile(path);
  if (files.length > 0) return [...new Set(files)];
  throw new CertrollError(`${path} holds no cluster file`, {
    code: 'cluster-file.invalid',
    exit: EXIT.usage,
    hint: 'Every *.yaml and *.yml in a folder is taken for one.',
  });
};

const fromFile = async (path: string): Promise<readonly string[]> => {
  const { text } = await readSource(path, 'cluster-file.invalid');
  if (!isFleet(text)) return [path];
  const { value } = await loadYaml(path, fleetFileSchema, 'cluster-file.invalid');
  return value.clusters.flatMap((each) => {
    const file = resolve(dirname(path), each);
    return isFolder(file) ? inFolder(file) : [file];
  });
};
