import type { FileFact, ServiceFact, ServiceSpec } from '../hosts/host.js';
import type { ApiserverFlags } from '../kube/flags.js';
import { readVerificationKeys } from '../pem/keys.js';
import { describeProblem } from '../pem/read.js';
import { failed, ok, type Verdict } from './check.js';

/** How the cluster file says that a service is found, for people. */
const describeSpec = (spec: ServiceSpec): string => {
  switch (spec.kind) {
    case 'systemd':
      return `the unit ${spec.unit}`;
    case 'command':
      return `the pid file ${spec.pidFile}`;
    case 'static-pod':
      return `the manifest ${spec.manifest}`;
  }
};

const SETTINGS: Readonly<Record<string, string>> = {
  'kube-apiserver': 'services.apiserver',
  'kube-controller-manager': 'services.controllerManager',
};

export interface SeenService {
  readonly service: string;
  readonly spec: ServiceSpec;
  readonly fact: ServiceFact | undefined;
  /** Where else a program of that name was found running. */
  readonly elsewhere: readonly string[];
}

/** Whether a service runs where the cluster file says it does. */
export const judgeService = ({ service, spec, fact, elsewhere }: SeenService): Verdict => {
  if (fact?.running === true) return ok(`process ${fact.pid}, by ${describeSpec(spec)}`);
  const setting = SETTINGS[service] ?? 'services';
  const text = `no running ${service} was found by ${describeSpec(spec)}: ${fact?.detail ?? 'nothing was said of it'}`;
  const [first] = elsewhere;
  return first === undefined
    ? failed(text, `Start it, or set ${setting} in the cluster file to what runs it.`)
    : failed(
        text,
        `${elsewhere.join(' and ')} ${elsewhere.length === 1 ? 'is' : 'are'} a ${service} there: set ${setting} in the cluster file to what runs it.`,
      );
};

/** The files that an apiserver signs and verifies service-account tokens with, as it would read them. */
export const judgeKeyFiles = (
  { signingKeyFile, keyFiles, signingEndpoint }: ApiserverFlags,
  files: ReadonlyMap<string, FileFact>,
  bundle: string | undefined,
): Verdict => {
  if (signingKeyFile === undefined)
    return failed(
      `kube-apiserver has no --service-account-signing-key-file${signingEndpoint === undefined ? '' : ' (an external signer has its keys)'}`,
      signingEndpoint === undefined
        ? 'Give it one: there is nothing to rotate without.'
        : 'Rotate the keys where --service-account-signing-endpoint leads.',
    );
  const problems = [signingKeyFile, ...keyFiles].flatMap((path) => {
    const file = files.get(path);
    if (file?.exists !== true) return [`${path} does not exist`];
    if (file.content === undefined)
      return file.publicKeyPem === undefined ? [`openssl reads no private key from ${path}`] : [];
    return readVerificationKeys(file.content).problems.map((each) => `${path}: ${describeProblem(each)}`);
  });
  if (problems.length > 0)
    return failed(
      [...new Set(problems)].join('; '),
      'Its kube-apiserver would not come back, or lose a key, at its next start. Mend the files first.',
    );
  if (bundle !== undefined && !keyFiles.includes(bundle))
    return failed(
      `serviceAccounts.bundle is ${bundle}, which no --service-account-key-file names`,
      `Set it to one of ${keyFiles.join(', ') || 'its files, of which it has none'}.`,
    );
  return ok(`signs with ${signingKeyFile}, verifies with ${keyFiles.join(', ') || 'the same'}`);
};
