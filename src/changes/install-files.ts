import { CertrollError } from '../core/errors.js';
import { hostOf, withFile } from '../trust/world.js';
import type { ChangeKind, InstallFiles } from './change.js';

export const installFiles: ChangeKind<InstallFiles> = {
  describe: (change) => `install ${change.files.map(({ from, to }) => `${from} as ${to}`).join(' and ')}`,

  model: (change, world) =>
    change.files.reduce((before, { from, to }) => {
      const staged = hostOf(before, change.host).files.get(from);
      if (!staged)
        throw new Error(`the plan installs ${from} on ${change.host}, which no change has written`);
      return withFile(withFile(before, change.host, to, staged), change.host, from, undefined);
    }, world),

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
