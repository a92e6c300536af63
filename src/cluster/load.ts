import { accessSync, constants, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, resolve } from 'node:path';
import { parseDuration } from '../core/duration.js';
import { CertrollError, messageOf } from '../core/errors.js';
import { loadYaml, type Problem, type YamlDocument, type YamlPath } from '../core/yaml-document.js';
import { expandHosts } from '../hosts/expression.js';
import type { ServiceSpec } from '../hosts/host.js';
import { clusterFileSchema, type ClusterFile } from './schema.js';

/** A cluster file, checked: hosts expanded, durations understood, the files it names there and safe. */
export interface Cluster extends ClusterFile {
  /** Folder of the cluster file: what its paths are relative to. */
  readonly baseDir: string;
  readonly hosts: {
    readonly controlPlanes: readonly string[];
    readonly nodes: readonly string[];
  };
}

export const CODE = 'cluster-file.invalid';

/** A path of the cluster file: `~` is the home folder, a relative one starts at the cluster file. */
export const resolvePath = (baseDir: string, path: string): string =>
  path === '~' || path.startsWith('~/') ? resolve(homedir(), path.slice(2)) : resolve(baseDir, path);

const attempt = <T>(
  document: YamlDocument<ClusterFile>,
  path: YamlPath,
  problems: Problem[],
  get: () => T,
): T | undefined => {
  try {
    return get();
  } catch (thrown) {
    problems.push({ position: document.positionOf(path), message: messageOf(thrown) });
    return undefined;
  }
};

const hostsOf = (
  document: YamlDocument<ClusterFile>,
  key: 'controlPlanes' | 'nodes',
  problems: Problem[],
): readonly string[] => {
  const expression = document.value[key]?.hosts;
  if (expression === undefined) return [];
  const path = [key, 'hosts'];
  const names = attempt(document, path, problems, () => expandHosts(expression));
  if (names?.length === 0)
    problems.push({ position: document.positionOf(path), message: `'${expression}' names no host` });
  return names ?? [];
};

/** Files on the bastion that the cluster file names; `secret` ones hold a private key. */
const namedFiles = (
  file: ClusterFile,
): readonly { readonly path: YamlPath; readonly name: string | undefined; readonly secret?: boolean }[] => [
  { path: ['ssh', 'config'], name: file.ssh.config },
  ...(file.ssh.identityFiles ?? []).map((name, at) => ({
    path: ['ssh', 'identityFiles', at],
    name,
    secret: true,
  })),
  ...(file.ssh.knownHosts ?? []).map((name, at) => ({ path: ['ssh', 'knownHosts', at], name })),
  { path: ['etcd', 'ca'], name: file.etcd.ca },
  { path: ['etcd', 'cert'], name: file.etcd.cert },
  { path: ['etcd', 'key'], name: file.etcd.key, secret: true },
  { path: ['api', 'kubeconfig'], name: file.api.kubeconfig },
  ...(file.issuer.type === 'local-ca'
    ? [
        { path: ['issuer', 'cert'], name: file.issuer.cert },
        { path: ['issuer', 'key'], name: file.issuer.key, secret: true },
      ]
    : []),
  ...(file.issuer.type === 'cfssl'
    ? [
        { path: ['issuer', 'ca'], name: file.issuer.ca },
        { path: ['issuer', 'cert'], name: file.issuer.cert },
        { path: ['issuer', 'key'], name: file.issuer.key, secret: true },
      ]
    : []),
];

const checkFile = (path: string, secret: boolean): void => {
  try {
    accessSync(path, constants.R_OK);
  } catch (thrown) {
    throw new Error(
      `cannot read ${path}: ${(thrown as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such file' : messageOf(thrown)}`,
      { cause: thrown },
    );
  }
  const { mode } = statSync(path);
  if (secret && (mode & 0o077) !== 0) {
    throw new Error(
      `the private key ${path} can be read by others (mode ${(mode & 0o777).toString(8)}); chmod 600 ${path}`,
    );
  }
};

const SERVICES = { 'kube-apiserver': 'apiserver', 'kube-controller-manager': 'controllerManager' } as const;

/** `{host}` in the words of a named command stands for the host's name; nothing else in braces is known. */
const fillIn = (word: string, host: string): string =>
  word.replace(/\{([^{}]*)\}/g, (whole, name: string) => {
    if (name !== 'host')
      throw new Error(`'${whole}' is not known here; {host} stands for the name of the host`);
    return host;
  });

/** How a service is found and restarted on a host; undefined when the cluster file says it is not there. */
export const serviceSpec = (
  cluster: Pick<ClusterFile, 'services'>,
  host: string,
  name: keyof typeof SERVICES,
): ServiceSpec | undefined => {
  const service = cluster.services[SERVICES[name]];
  if (service === false) return undefined;
  if ('systemd' in service) return { kind: 'systemd', unit: service.systemd };
  const { restart, pidFile } = service.command;
  return {
    kind: 'command',
    restart: restart.map((word) => fillIn(word, host)),
    pidFile: fillIn(pidFile, host),
  };
};

/** Every duration of the file once, so that none can fail later. */
const checkDurations = (file: ClusterFile): void => {
  for (const text of [
    file.lock.ttl,
    file.lock.wait,
    file.api.timeout,
    file.etcd.timeout,
    file.restart.settle,
  ])
    parseDuration(text);
};

const check = (document: YamlDocument<ClusterFile>, baseDir: string): Cluster => {
  const problems: Problem[] = [];
  const file = document.value;
  const controlPlanes = hostsOf(document, 'controlPlanes', problems);
  const nodes = hostsOf(document, 'nodes', problems);
  for (const { path, name, secret } of namedFiles(file)) {
    if (name !== undefined)
      attempt(document, path, problems, () => checkFile(resolvePath(baseDir, name), secret === true));
  }
  for (const name of ['kube-apiserver', 'kube-controller-manager'] as const) {
    attempt(document, ['services', SERVICES[name]], problems, () =>
      serviceSpec(file, controlPlanes[0] ?? '', name),
    );
  }
  attempt(document, [], problems, () => checkDurations(file));
  if (parseDuration(file.lock.ttl) < 5000)
    problems.push({
      position: document.positionOf(['lock', 'ttl']),
      message: 'a lock of less than 5s is lost at the first hiccup; 30s is usual',
    });
  if (problems.length > 0) throw document.error(problems);
  return { ...file, baseDir, hosts: { controlPlanes, nodes } };
};

/** Loads and checks a cluster file. Throws `cluster-file.invalid` (exit 2) with every problem, its line and column. */
export const loadCluster = async (path: string): Promise<Cluster> => {
  const document = await loadYaml<ClusterFile>(path, clusterFileSchema, CODE);
  try {
    return check(document, dirname(resolve(path)));
  } catch (thrown) {
    if (thrown instanceof CertrollError) throw thrown;
    throw document.error([{ position: { line: 1, column: 1 }, message: messageOf(thrown) }]);
  }
};
