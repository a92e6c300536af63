import { CertrollError } from '../core/errors.js';
import type { FileFact, RunningService } from '../hosts/host.js';
import { parseApiserverFlags } from '../kube/flags.js';
import type { ApplyContext } from './change.js';
import { PREVIOUS, STAGED } from './file-names.js';
import { keysOf } from './keys-of.js';

/** A file to be put back, and where what replaced it is kept. */
export interface LastGood {
  readonly path: string;
  readonly aside?: string;
}

/** What an apiserver had loaded before its restart, as it told itself. */
export interface LoadedBefore {
  readonly signs: string;
  readonly verifies: ReadonlySet<string>;
}

/** Asks an apiserver what it has loaded; undefined when it does not tell, as when it is not running. */
export const askLoaded = async (host: string, context: ApplyContext): Promise<LoadedBefore | undefined> => {
  const api = context.doors.api(host);
  try {
    const [keys, { kid }] = await Promise.all([
      api.jwks(),
      api.mintToken(context.settings.probe, PROBE_TTL_SECONDS),
    ]);
    return { signs: kid, verifies: new Set(keys.keys()) };
  } catch {
    return undefined;
  }
};

const PROBE_TTL_SECONDS = 600;

/**
 * Of the files that an apiserver reads, those whose predecessors are what it had loaded before its restart, and which are
 * something else now. Judged by the keys in them, never by their dates: a file that somebody wrote again unchanged is
 * newer than the process too, and its predecessor may be a key of long ago. Empty when what they hold together would not
 * be what was loaded.
 */
export const lastGoodFiles = async (
  host: string,
  before: RunningService,
  loaded: LoadedBefore,
  context: ApplyContext,
): Promise<readonly LastGood[]> => {
  const { signingKeyFile, keyFiles } = parseApiserverFlags(before.argv);
  const signing = signingKeyFile === undefined ? [] : [signingKeyFile];
  const publicFiles = keyFiles.filter((path) => path !== signingKeyFile);
  const { files } = await context.doors.host(host).readFacts({
    privateKeys: [...signing, ...signing.map((path) => path + PREVIOUS)],
    publicFiles: [...publicFiles, ...publicFiles.map((path) => path + PREVIOUS)],
  });
  const now = (path: string): readonly string[] => keysOf(files.get(path));
  const was = (path: string): readonly string[] => keysOf(files.get(path + PREVIOUS));
  const key = signing.filter((path) => !now(path).includes(loaded.signs) && was(path).includes(loaded.signs));
  const others = publicFiles.filter((path) => {
    const isChanged = now(path).some((kid) => !loaded.verifies.has(kid)) || isCertificateOf(now(path), key);
    return isChanged && was(path).length > 0 && was(path).every((kid) => loaded.verifies.has(kid));
  });
  // The certificate of a key goes with it, and with nothing else.
  const certificate = others.filter((path) => holdsCertificate(files.get(path)));
  const chosen = [...key, ...others.filter((path) => key.length > 0 || !certificate.includes(path))];
  const after = new Set(publicFiles.flatMap((path) => (chosen.includes(path) ? was(path) : now(path))));
  const isWhole = [...loaded.verifies].every((kid) => after.has(kid));
  if (!isWhole) return [];
  return chosen.map((path) => ({
    path,
    // A key that was issued must not be lost, nor its certificate: they go back to where they waited.
    ...((key.includes(path) || certificate.includes(path)) && { aside: path + STAGED }),
  }));
};

/** A file that lists one key only while the signing key was swapped: the certificate that was swapped with it. */
const isCertificateOf = (kids: readonly string[], swapped: readonly string[]): boolean =>
  swapped.length > 0 && kids.length === 1;

const holdsCertificate = (file: FileFact | undefined): boolean =>
  file?.exists === true && (file.content ?? '').includes('-----BEGIN CERTIFICATE-----');

/** Puts the files back. Throws the errors of the host. */
export const putBack = async (
  host: string,
  files: readonly LastGood[],
  context: ApplyContext,
): Promise<void> => {
  context.progress(`putting the last good files back: ${files.map(({ path }) => path).join(', ')}`, host);
  await context.doors.host(host).restoreFiles(files);
};

/** The error of a restart that failed, once the host was looked after. */
export const afterRestoring = (
  host: string,
  failure: CertrollError,
  outcome: { readonly files: readonly LastGood[]; readonly ready: boolean },
): CertrollError => {
  const put = outcome.files.map(({ path }) => path).join(', ');
  return new CertrollError(
    outcome.ready
      ? `${failure.message}. The last good files were put back (${put}), and kube-apiserver is ready again with them`
      : `${failure.message}. The last good files were put back (${put}), and it is still not ready with them`,
    {
      code: outcome.ready ? 'restart.restored' : 'restart.not-restored',
      host,
      cause: failure,
      hint: outcome.ready
        ? `The run stopped; the other hosts were left alone. Find in the log of kube-apiserver on ${host} why it does not start with the new files, mend that, then run again.`
        : `The run stopped; the other hosts were left alone, and their apiservers go on. Look at the log of kube-apiserver on ${host}: something besides the files of this run keeps it from getting ready.`,
    },
  );
};
