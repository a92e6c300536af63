import { CertrollError } from '../core/errors.js';
import { withFile } from '../trust/world.js';
import type { ChangeKind, RemoveFile } from './change.js';

export const removeFile: ChangeKind<RemoveFile> = {
  describe: (change) => `remove ${change.path}`,

  model: (change, world) => withFile(world, change.host, change.path, undefined),

  async apply(change, context) {
    await context.doors.host(change.host).removeFile(change.path);
  },

  async verify(change, context) {
    const { files } = await context.doors.host(change.host).readFacts({ privateKeys: [change.path] });
    if (files.get(change.path)?.exists !== true) return;
    throw new CertrollError(`${change.host}: ${change.path} is still there after it was removed`, {
      code: 'verify.file',
      host: change.host,
      hint: 'Find out what writes this file, then run again.',
    });
  },
};
