import { STAGED } from '../../changes/file-names.js';
import type { HostState, ServiceState } from '../../trust/world.js';
import { refuse } from '../refuse.js';
import type { Site } from '../step.js';

/** Where the service-account keys of one control plane lie, as its own processes' flags say. */
export interface KeyLayout {
  readonly signingFile: string;
  /** The certificate of the signing key; undefined when keys are not certified there. */
  readonly certificateFile: string | undefined;
  /** The verification file that takes all published keys. */
  readonly bundleFile: string;
  /** Where the next key and its certificate wait, beside the live ones. */
  readonly stagedKey: string;
  readonly stagedCertificate: string | undefined;
}

export const apiserverOf = (host: HostState): ServiceState => {
  const apiserver = host.services.get('kube-apiserver');
  if (!apiserver) {
    throw refuse(
      host.name,
      'no running kube-apiserver was found',
      'Start it first: its own flags say where its keys lie. Or set services.apiserver in the cluster file.',
    );
  }
  return apiserver;
};

/** The verification file that holds the certificate of the key the host signs with. */
const ownCertificate = (host: HostState, apiserver: ServiceState): string | undefined => {
  const signs =
    apiserver.signingFile === undefined ? undefined : host.files.get(apiserver.signingFile)?.signingKey;
  return apiserver.verificationFiles.find((path) => {
    const file = host.files.get(path);
    return (
      file?.certificate !== undefined && file.certificate.key === signs && file.verificationKeys.length === 1
    );
  });
};

/** Where the certificate of a signing key lies when nothing says so. */
export const besideSigningFile = (signingFile: string): string =>
  `${signingFile.replace(/\.(key|pem)$/, '')}.crt`;

const bundleOf = (
  host: HostState,
  apiserver: ServiceState,
  certificateFile: string | undefined,
  site: Site,
): string => {
  const files = apiserver.verificationFiles;
  if (site.bundle !== undefined) {
    if (files.includes(site.bundle)) return site.bundle;
    throw refuse(
      host.name,
      `serviceAccounts.bundle is ${site.bundle}, which no --service-account-key-file of the running kube-apiserver names`,
      `It names ${files.join(', ') || 'none'}.`,
    );
  }
  const free = files.filter((path) => path !== apiserver.signingFile && path !== certificateFile);
  const bundle = free.at(-1);
  if (bundle !== undefined) return bundle;
  throw refuse(
    host.name,
    `kube-apiserver has no --service-account-key-file that public keys can be published in (it names ${files.join(', ') || 'none'})`,
    'Add a second --service-account-key-file for the public keys of all control planes, restart it once, and run again.',
  );
};

/** Throws `plan.refused` when the flags leave no way to rotate. */
export const layoutOf = (host: HostState, site: Site): KeyLayout => {
  const apiserver = apiserverOf(host);
  const { signingFile } = apiserver;
  if (signingFile === undefined) {
    throw refuse(
      host.name,
      'kube-apiserver has no --service-account-signing-key-file',
      'With an external signer (--service-account-signing-endpoint) the keys are rotated there, not by certroll.',
    );
  }
  const controllerManager = host.services.get('kube-controller-manager');
  if (controllerManager?.signingFile !== undefined && controllerManager.signingFile !== signingFile) {
    throw refuse(
      host.name,
      `kube-apiserver signs with ${signingFile}, kube-controller-manager with ${controllerManager.signingFile}`,
      'Give both the same file, or set services.controllerManager: false when that is meant.',
    );
  }
  const certificateFile =
    site.certificate ??
    ownCertificate(host, apiserver) ??
    (site.certified ? besideSigningFile(signingFile) : undefined);
  return {
    signingFile,
    certificateFile: site.certified ? certificateFile : undefined,
    bundleFile: bundleOf(host, apiserver, certificateFile, site),
    stagedKey: signingFile + STAGED,
    stagedCertificate: site.certified && certificateFile !== undefined ? certificateFile + STAGED : undefined,
  };
};

/** Refuses a host whose key files hold anything that its apiserver would silently lose. */
export const requireSoundFiles = (host: HostState): void => {
  const apiserver = apiserverOf(host);
  const paths = [
    ...apiserver.verificationFiles,
    ...(apiserver.signingFile === undefined ? [] : [apiserver.signingFile]),
  ];
  for (const path of paths) {
    const file = host.files.get(path);
    if (!file)
      throw refuse(
        host.name,
        `${path}, which its kube-apiserver's flags name, does not exist`,
        'It would not start again. Restore the file, then run again.',
      );
    const problem = file.problems[0];
    if (problem !== undefined) {
      throw refuse(
        host.name,
        `${path}: ${problem}`,
        'kube-apiserver would lose that key at its next start. Mend the file, then run again.',
      );
    }
  }
};
