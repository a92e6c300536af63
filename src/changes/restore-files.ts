import { CertrollError } from '../core/errors.js';
import { hostOf, withFile, type World } from '../trust/world.js';
import type { ChangeKind, RestoreFiles } from './change.js';
import { keysOf } from './keys-of.js';
import { PREVIOUS } from './file-names.js';

const restored = (world: World, host: string, paths: readonly string[]): World =>
  paths.reduce((before, path) => {
    const { files } = hostOf(before, host);
    const previous = files.get(path + PREVIOUS);
    if (!previous) throw new Error(`the plan restores ${path} on ${host}, which has no predecessor`);
    return withFile(withFile(before, host, path, previous), host, path + PREVIOUS, files.get(path));
  }, world);

export const restoreFiles: ChangeKind<RestoreFiles> = {
  describe: (change) => `put ${change.paths.join(' and ')} back as before the last change`,

  model: (change, world) => restored(world, change.host, change.paths),

  // One rename after the other, in this order: a power loss can come between any two.
  partial: (change, world) =>
    change.paths.slice(1).map((_path, at) => restored(world, change.host, change.paths.slice(0, at + 1))),

  async apply(change, context) {
    await context.doors
      .host(change.host)
      .restoreFiles(change.paths.map((path) => ({ path, aside: path + PREVIOUS })));
  },

  async verify(change, context) {
    const { host, paths, key } = change;
    const [signingFile, ...certificates] = paths;
    const { files } = await context.doors.host(host).readFacts({
      privateKeys: signingFile === undefined ? [] : [signingFile],
      publicFiles: certificates,
    });
    const { kid } = context.keys.resolve(key);
    const wrong = paths.find((path) => !keysOf(files.get(path)).includes(kid));
    if (wrong === undefined) return;
    throw new CertrollError(`${host}: ${wrong} does not hold ${kid} after it was put back`, {
      code: 'verify.file',
      host,
      hint: 'Look at the folder on that host; then run again.',
    });
  },
};
