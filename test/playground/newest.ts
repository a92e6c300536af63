import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** When a file below a folder was changed last, in milliseconds since the epoch. */
export const newestChange = async (folder: string): Promise<number> => {
  const files = await readdir(folder, { recursive: true });
  const times = await Promise.all(files.map(async (file) => (await stat(join(folder, file))).mtimeMs));
  return Math.max(0, ...times);
};
