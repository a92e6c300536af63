import { CertrollError } from '../core/errors.js';
import type { ServiceFact } from '../hosts/host.js';
import { parseApiserverFlags } from '../kube/flags.js';
import type { ApplyContext } from './change.js';
import { PREVIOUS, STAGED } from './file-names.js';

/** A file to be put back, and where what replaced it is kept. */
export interface LastGood {
  readonly path: string;
  readonly aside?: string;
}

/** A running process, as it was before its restart. */
export type RunningService = ServiceFact & { readonly running: true };

/**
 * Of the files that an apiserver reads, those that have changed since its last good start and whose predecessors
 * are still there. With them back it loads what it had loaded: nothing that was accepted before its restart is refused.
 */
export const lastGoodFiles = async (
  host: string,
  before: RunningService,
  context: ApplyContext,
): Promise<readonly LastGood[]> => {
  const { signingKeyFile, keyFiles } = parseApiserverFlags(before.argv);
  const signing = signingKeyFile === undefined ? [] : [signingKeyFile];
  const publicFiles = keyFiles.filter((path) => path !== signingKeyFile);
  const { files } = await context.doors.host(host).readFacts({
    privateKeys: [...signing, ...signing.map((path) => path + PREVIOUS)],
    publicFiles: [...publicFiles, ...publicFiles.map((path) => path + PREVIOUS)],
  });
  const isNew = (path: string): boolean => {
    const file = files.get(path);
    return (
      file?.exists === true &&
      file.changedAtMs > before.startedAtMs &&
      files.get(path + PREVIOUS)?.exists === true
    );
  };
  const isSwapped = signing.some(isNew);
  return [...signing, ...publicFiles].filter(isNew).map((path) => ({
    path,
    // A key that was issued must not be lost, nor its certificate: they go back to where they waited.
    ...(isSwapped &&
      (signing.includes(path) || holdsCertificate(files.get(path))) && { aside: path + STAGED }),
  }));
};

const holdsCertificate = (
  file: { readonly exists: boolean; readonly content?: string } | undefined,
): boolean => file?.exists === true && (file.content ?? '').includes('-----BEGIN CERTIFICATE-----');

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
