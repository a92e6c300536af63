import type { FileFact } from '../hosts/host.js';
import { kidOf, readVerificationKeys } from '../pem/keys.js';

/** The kids that a file's consumer gets from it: of a private key, its own; none where there is no file. */
export const keysOf = (file: FileFact | undefined): readonly string[] => {
  if (file?.exists !== true) return [];
  if (file.publicKeyPem !== undefined) return [kidOf(file.publicKeyPem)];
  return readVerificationKeys(file.content ?? '').keys.map(({ kid }) => kid);
};
