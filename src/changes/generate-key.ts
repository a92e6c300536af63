import { CertrollError } from '../core/errors.js';
import { kidOf } from '../pem/keys.js';
import { withFile } from '../trust/world.js';
import type { ChangeKind, GenerateKey } from './change.js';
import { keysOf } from './keys-of.js';

export const generateKey: ChangeKind<GenerateKey> = {
  describe: (change) => `generate a signing key (${change.algorithm}) into ${change.path}`,

  model: (change, world) =>
    withFile(world, change.host, change.path, {
      signingKey: change.key,
      verificationKeys: [change.key],
      problems: [],
    }),

  async apply(change, context) {
    const { publicKeyPem } = await context.doors
      .host(change.host)
      .generateKey(change.path, change.algorithm, { like: change.like });
    context.keys.bind(change.key, publicKeyPem);
    context.progress(`kid ${kidOf(publicKeyPem)}`, change.host);
  },

  async verify(change, context) {
    const facts = await context.doors.host(change.host).readFacts({ privateKeys: [change.path] });
    const expected = context.keys.resolve(change.key).kid;
    const [found = 'none'] = keysOf(facts.files.get(change.path));
    if (found !== expected) {
      throw new CertrollError(
        `${change.host}: ${change.path} holds key ${found}, not the generated ${expected}`,
        {
          code: 'verify.file',
          host: change.host,
          hint: 'Something else wrote the file at the same moment; find out what, then run again.',
        },
      );
    }
  },
};
