import { CertrollError } from '../core/errors.js';
import { hostOf, withFile, type World } from '../trust/world.js';
import type { ChangeKind, InstallFiles } from './change.js';
import { PREVIOUS } from './file-names.js';

const installed = (world: World, host: string, files: InstallFiles['files']): World =>
  files.reduce((before, { from, to }) => {
    const staged = hostOf(before, host).files.get(from);
    if (!staged) throw new Error(`the plan installs ${from} on ${host}, which no change has written`);
    const kept = withFile(before, host, to + PREVIOUS, hostOf(before, host).files.get(to));
    return withFile(withFile(kept, host, to, staged), host, from, undefined);
  }, world);

export const installFiles: ChangeKind<InstallFiles> = {
  describe: (change) => `install ${change.files.map(({ from, to }) => `${from} as ${to}`).join(' and ')}`,

  model: (change, world) => installed(world, change.host, change.files),

  // One rename after the other, in this order: a power loss can come between any two.
  partial: (change, world) =>
    change.files.slice(1).map((_file, at) => installed(world, change.host, change.files.slice(0, at + 1))),

  async apply(change, context) {
    await context.doors.host(change.host).installFiles(change.files, { keepPrevious: true });
  },

  async verify(change, context) {
    const facts = await context.doors
      .host(change.host)
      .readFacts({ privateKeys: change.files.map((file) => file.from) });
    const left = change.files.find((file) => facts.files.get(file.from)?.exists);
    if (!left) return;
    throw new CertrollError(`${change.host}: the staged ${left.from} is still there after it was installed`, {
      code: 'verify.file',
      host: change.host,
      hint: 'Look at the folder on that host; then run again.',
    });
  },
};
