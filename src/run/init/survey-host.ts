import { X509Certificate } from 'node:crypto';
import { locate, settingsOf, single, type ComponentProcess } from '../../audit/uses.js';
import { isInPod } from '../../init/layout.js';
import type { SeenHost, SeenProcess } from '../../init/seen.js';
import type { Host } from '../../hosts/host.js';
import { inspect, type FoundProcess, type LookedAt } from '../../hosts/inspect.js';
import { manifestsThatStart, surroundingsOf, type Surroundings } from '../../hosts/surroundings.js';
import { parseApiserverFlags } from '../../kube/flags.js';
import { kidOf } from '../../pem/keys.js';
import { readPem } from '../../pem/read.js';

const PROGRAMS = ['kube-apiserver', 'kube-controller-manager', 'etcd', 'kubelet'] as const;

/** A process that the cluster file finds by its pid file, whatever its program is called. */
export interface PidFile {
  readonly program: (typeof PROGRAMS)[number];
  readonly path: string;
}

/** What a host was seen to run, before it has a name in the cluster file. */
export type HostSurvey = Omit<SeenHost, 'name' | 'aliases' | 'where' | 'address' | 'servedNames'> & {
  readonly fullName: string | undefined;
  readonly hasAdminConf: boolean;
};

const isProgram = (process: FoundProcess): process is ComponentProcess =>
  (PROGRAMS as readonly string[]).includes(process.program);

/** The folder of manifests of the kubelet of that host. */
const manifestFolder = async (
  host: Host,
  kubelet: ComponentProcess | undefined,
): Promise<string | undefined> => {
  if (!kubelet) return undefined;
  const config = single(settingsOf(kubelet), 'config');
  const path = config === undefined ? undefined : locate(kubelet, config);
  const looked =
    path === undefined ? undefined : (await inspect(host, { documents: [path] })).files.get(path);
  const settings = settingsOf(kubelet, looked?.kind === 'file' ? looked.text : undefined);
  return single(settings, 'pod-manifest-path');
};

const seenProcess = async (
  host: Host,
  program: string,
  processes: readonly ComponentProcess[],
  { cgroups }: Surroundings,
): Promise<SeenProcess | undefined> => {
  const found = processes.find((each) => each.program === program);
  if (!found) return undefined;
  const { pid, argv, unit } = found;
  const process = { pid, argv, unit, cgroup: cgroups.get(pid) ?? '', manifest: undefined };
  if (!isInPod(process)) return process;
  const folder = await manifestFolder(
    host,
    processes.find((each) => each.program === 'kubelet'),
  );
  const manifests = folder === undefined ? [] : await manifestsThatStart(host, folder, program);
  // Two that start it: nobody could say which.
  return { ...process, manifest: manifests.length === 1 ? manifests[0] : undefined };
};

const issuerIn = (file: LookedAt | undefined, kid: string): string | undefined => {
  if (file?.kind !== 'file') return undefined;
  for (const { type, bytes } of readPem(file.text).blocks) {
    if (type !== 'CERTIFICATE') continue;
    try {
      const certificate = new X509Certificate(bytes);
      if (kidOf(certificate.publicKey) === kid) return certificate.issuer.split('\n').join(', ');
    } catch {
      // What a file that is damaged gives away is for an audit.
    }
  }
  return undefined;
};

/** The id of the key that an apiserver signs with, and who certified it; only the public half leaves the host. */
const signingKey = async (
  host: Host,
  apiserver: ComponentProcess | undefined,
): Promise<Pick<SeenHost, 'signingKid' | 'signingIssuer'>> => {
  const none = { signingKid: undefined, signingIssuer: undefined };
  if (!apiserver) return none;
  const { signingKeyFile, keyFiles } = parseApiserverFlags(apiserver.argv);
  if (signingKeyFile === undefined) return none;
  const at = (path: string): string => locate(apiserver, path);
  const { files } = await inspect(host, { files: [...new Set([signingKeyFile, ...keyFiles].map(at))] });
  const key = files.get(at(signingKeyFile));
  if (key?.kind !== 'file' || key.publicKeyPem === undefined) return none;
  const signingKid = kidOf(key.publicKeyPem);
  const issuers = keyFiles.flatMap((path) => issuerIn(files.get(at(path)), signingKid) ?? []);
  return { signingKid, signingIssuer: issuers[0] };
};

/** Looks at one host over SSH. Changes nothing. Throws the errors of `inspect`. */
export const surveyHost = async (host: Host, pidFiles: readonly PidFile[]): Promise<HostSurvey> => {
  const byFile = pidFiles.map(({ program }) => program);
  const { processes: found } = await inspect(host, {
    programs: PROGRAMS.filter((program) => !byFile.includes(program)),
    pidFiles,
  });
  const processes = found.filter(isProgram);
  const surroundings = await surroundingsOf(
    host,
    processes.map(({ pid }) => pid),
  );
  const etcd = processes.find(({ program }) => program === 'etcd');
  const urls = etcd ? (single(settingsOf(etcd), 'advertise-client-urls') ?? '') : '';
  return {
    fullName: surroundings.fullName,
    hasAdminConf: surroundings.hasAdminConf,
    lockNames: surroundings.lockNames,
    etcdClientUrls: urls.split(',').filter((url) => url !== ''),
    apiserver: await seenProcess(host, 'kube-apiserver', processes, surroundings),
    controllerManager: await seenProcess(host, 'kube-controller-manager', processes, surroundings),
    ...(await signingKey(
      host,
      processes.find(({ program }) => program === 'kube-apiserver'),
    )),
  };
};
