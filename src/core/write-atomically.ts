import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { open, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CertrollError, messageOf } from './errors.js';

/** Of a file that is not there yet. */
const PUBLIC = 0o644;

/** Beside it, flushed to the disk, renamed; who may read the file stays as it was. */
const replace = async (path: string, text: string, before: Stats | undefined): Promise<void> => {
  const staged = join(dirname(path), `.${basename(path)}.${randomBytes(4).toString('hex')}`);
  try {
    const file = await open(staged, 'wx', before ? 0o600 : PUBLIC);
    try {
      await file.writeFile(text);
      if (before) {
        if (process.getuid?.() === 0) await file.chown(before.uid, before.gid);
        await file.chmod(before.mode & 0o777);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(staged, path);
  } catch (thrown) {
    await rm(staged, { force: true }).catch(() => undefined);
    throw thrown;
  }
};

/**
 * Writes a file so that a reader finds the old one or the new one and never a part. The name it has until then begins with a
 * dot, which collectors of metrics pass over. A link is followed; what is no file (`/dev/stdout`, a pipe) is written to and
 * never replaced. Throws `output.write`.
 */
export const writeAtomically = async (path: string, text: string): Promise<void> => {
  try {
    const before = await stat(path).catch(() => undefined);
    if (before && !before.isFile()) await writeFile(path, text);
    else await replace(before ? await realpath(path) : path, text, before);
  } catch (thrown) {
    throw new CertrollError(`cannot write ${path}: ${messageOf(thrown)}`, {
      code: 'output.write',
      hint: 'Its folder must exist, be writable for you and have room.',
    });
  }
};
