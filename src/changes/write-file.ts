import { CertrollError } from '../core/errors.js';
import { encodeBundle } from '../pem/keys.js';
import { withFile, type FileState } from '../trust/world.js';
import type { ApplyContext, ChangeKind, WriteFile } from './change.js';
import { keysOf } from './keys-of.js';

/** The state that a file with this content has. */
const stateOf = (change: WriteFile): FileState => {
  switch (change.content.type) {
    case 'verification-keys':
      return { verificationKeys: change.content.keys, problems: [] };
    case 'certificate':
      return {
        verificationKeys: [change.content.key],
        certificate: { key: change.content.key },
        problems: [],
      };
    case 'signing-key':
      return { signingKey: change.content.key, verificationKeys: [change.content.key], problems: [] };
  }
};

const certificate = async (change: WriteFile, keyPath: string, context: ApplyContext): Promise<string> => {
  const { issuer } = context.doors;
  if (!issuer) throw new CertrollError('the cluster file names no issuer', { code: 'issuer.none', exit: 2 });
  const csrPem = await context.doors.host(change.host).certificateRequest(keyPath, {
    commonName: `service-accounts ${context.cluster} ${change.host}`.slice(0, 64),
  });
  const issued = await issuer.issue({ csrPem, ttlMs: context.settings.certificateTtlMs, now: context.now() });
  const capped = issued.capped ? ' (cut to what its CA has left)' : '';
  context.progress(`certificate until ${issued.notAfter.toISOString()}${capped}`, change.host);
  return issued.pem;
};

/** The bytes to be written; a private key passes through memory only. */
const contentOf = async (change: WriteFile, context: ApplyContext) => {
  const { content } = change;
  switch (content.type) {
    case 'verification-keys':
      return encodeBundle(content.keys.map((key) => context.keys.resolve(key).publicKeyPem));
    case 'certificate':
      return certificate(change, content.keyPath, context);
    case 'signing-key':
      return context.doors.host(content.from.host).readSecret(content.from.path);
  }
};

/** The kids that the file's consumer gets from it. */
const readBack = async (change: WriteFile, context: ApplyContext): Promise<readonly string[]> => {
  const isPrivate = change.content.type === 'signing-key';
  const facts = await context.doors
    .host(change.host)
    .readFacts(isPrivate ? { privateKeys: [change.path] } : { publicFiles: [change.path] });
  return keysOf(facts.files.get(change.path));
};

export const writeFile: ChangeKind<WriteFile> = {
  describe(change) {
    switch (change.content.type) {
      case 'verification-keys':
        return `write ${change.content.keys.length} public keys to ${change.path}`;
      case 'certificate':
        return `have the key in ${change.content.keyPath} certified, write ${change.path}`;
      case 'signing-key':
        return `copy the shared signing key from ${change.content.from.host} to ${change.path}`;
    }
  },

  model: (change, world) => withFile(world, change.host, change.path, stateOf(change)),

  async apply(change, context) {
    const content = await contentOf(change, context);
    await context.doors.host(change.host).writeFile(change.path, content, {
      like: change.like,
      keepPrevious: change.content.type === 'verification-keys',
    });
    if (typeof content !== 'string') content.wipe();
  },

  async verify(change, context) {
    const state = stateOf(change);
    const refs = state.signingKey === undefined ? state.verificationKeys : [state.signingKey];
    const expected = new Set(refs.map((ref) => context.keys.resolve(ref).kid));
    const found = new Set(await readBack(change, context));
    if (expected.size === found.size && [...expected].every((kid) => found.has(kid))) return;
    throw new CertrollError(`${change.host}: ${change.path} does not hold the keys that were written to it`, {
      code: 'verify.file',
      host: change.host,
      hint: `Expected ${[...expected].join(', ')}; found ${[...found].join(', ') || 'none'}. Find out what else writes this file (puppet, confd), stop it, run again.`,
    });
  },
};
