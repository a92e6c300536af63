import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CertrollError, EXIT } from '../core/errors.js';
import { whyUnreadable } from '../core/source-text.js';
import { suggest } from '../core/suggest.js';

/** Where the cookbooks lie that certroll ships. */
const SHIPPED = fileURLToPath(new URL('../../cookbooks', import.meta.url));

/** File names of a folder; none where there is no such folder. */
const filesIn = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => !entry.isDirectory() && !entry.name.startsWith('.'))
      .map(({ name }) => name)
      .sort();
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new CertrollError(`cannot look for cookbooks in ${folder}: ${whyUnreadable(thrown)}`, {
      code: 'cookbook.folder',
      exit: EXIT.usage,
      hint: 'See --cookbook-dir and CERTROLL_COOKBOOKS.',
      cause: thrown,
    });
  }
};

/** Every cookbook in the folders, by name; the first folder wins, the shipped ones come last. */
export const findCookbooks = (folders: readonly string[]): ReadonlyMap<string, string> => {
  const found = new Map<string, string>();
  for (const folder of [...folders.filter((name) => name !== ''), SHIPPED]) {
    for (const file of filesIn(folder)) {
      const name = file.replace(/\.ya?ml$/, '');
      if (name !== file && !found.has(name)) found.set(name, join(folder, file));
    }
  }
  return found;
};

/** The file of a cookbook. Throws `cookbook.unknown` (exit 2). */
export const locateCookbook = (name: string, folders: readonly string[]): string => {
  if (name.includes('/') || /\.ya?ml$/.test(name)) return name;
  const found = findCookbooks(folders);
  const file = found.get(name);
  if (file !== undefined) return file;
  throw new CertrollError(`there is no cookbook '${name}'`, {
    code: 'cookbook.unknown',
    exit: EXIT.usage,
    hint: suggest(name, [...found.keys()]) || `Looked in ${[...folders, SHIPPED].join(', ')}.`,
  });
};
