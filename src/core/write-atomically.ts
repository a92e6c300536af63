import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CertrollError, messageOf } from './errors.js';

/**
 * Writes a public file (0644) so that a reader finds the old one or the new one and never a part: beside it, flushed to
 * the disk, renamed. The name it has until then begins with a dot, which collectors of metrics pass over. Throws
 * `output.write`.
 */
export const writeAtomically = async (path: string, text: string): Promise<void> => {
  const staged = join(dirname(path), `.${basename(path)}.${randomBytes(4).toString('hex')}`);
  try {
    const file = await open(staged, 'wx', 0o644);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(staged, path);
  } catch (thrown) {
    await rm(staged, { force: true }).catch(() => undefined);
    throw new CertrollError(`cannot write ${path}: ${messageOf(thrown)}`, {
      code: 'output.write',
      hint: 'Its folder must exist, be writable for you and have room.',
    });
  }
};
