import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { serviceSpec, type Cluster } from '../../cluster/load.js';
import { parseDuration } from '../../core/duration.js';
import { CertrollError } from '../../core/errors.js';
import { namesOf, peerCertificate } from '../../core/peer-certificate.js';
import type { ShownCertificate } from '../../doctor/advice.js';
import type { SeenIdentities } from '../../doctor/identities.js';
import { openStore } from '../../etcd/connect.js';
import type { Store } from '../../etcd/store.js';
import { createHost } from '../../hosts/connect.js';
import type { Host, ServiceSpec } from '../../hosts/host.js';
import { presentedKey, type PresentedKey } from '../../hosts/host-key.js';
import { resolveTarget, type SshTarget } from '../../hosts/ssh-config.js';
import { countAgentKeys, readIdentity } from '../../hosts/ssh2-auth.js';
import type { Issuer } from '../../issuers/issuer.js';
import { openIssuer } from '../../issuers/open.js';
import type { Credentials } from '../../kube/credentials.js';
import { openApiTargets } from '../../kube/connect.js';
import type { ApiTarget } from '../../kube/request.js';
import type { ServiceName } from '../../trust/world.js';

/** What doctor needs of the outside. Each may fail by itself; none changes anything. */
export interface DoctorDoors {
  readonly cluster: Cluster;
  /** Where SSH goes for a host, by ssh_config and the cluster file. */
  route(name: string): Promise<SshTarget>;
  /** Addresses of a name. Rejects with Node's own error. */
  addresses(hostname: string): Promise<readonly string[]>;
  presentedKey(target: SshTarget): Promise<PresentedKey | undefined>;
  identities(target: SshTarget): Promise<SeenIdentities>;
  /** Opens a host for as long as it is used, once there is room for one more. */
  withHost<T>(name: string, use: (host: Host) => Promise<T>): Promise<T>;
  service(host: string, service: ServiceName): ServiceSpec | undefined;
  /** What the kubeconfig gives; throws `cluster-file.invalid`. */
  credentials(): Promise<Credentials>;
  apiTarget(name: string, address: string): Promise<ApiTarget>;
  /** What is shown at a URL to whoever asks for that name; undefined when nothing is. */
  shown(url: string, serverName: string | undefined): Promise<ShownCertificate | undefined>;
  /** etcd at these endpoints. */
  store(endpoints: readonly string[]): Promise<Store>;
  issuer(): Promise<Issuer | undefined>;
  /** A file on this machine. */
  read(path: string): Promise<string>;
}

const identitiesOf = async (target: SshTarget, isOpenssh: boolean): Promise<SeenIdentities> => {
  const files = await Promise.all(
    target.identityFiles.map(async (path) => ({ path, ...(await readIdentity(path)) })),
  );
  const { agentSocket: socket } = target;
  return {
    usable: files.flatMap(({ path, key }) => (key === undefined ? [] : [path])),
    problems: files.flatMap(({ problem }) => problem ?? []),
    agent:
      socket === undefined
        ? undefined
        : await countAgentKeys(socket).then(
            (keys) => ({ socket, keys }),
            (thrown: unknown) => ({ failed: thrown instanceof Error ? thrown.message : String(thrown) }),
          ),
    isOpenssh,
  };
};

/** The real doors of a cluster. Opens nothing yet. */
export const openDoctorDoors = (
  cluster: Cluster,
  inTurn: <T>(work: () => Promise<T>) => Promise<T>,
): DoctorDoors => {
  const { baseDir } = cluster;
  const settings = { ssh: cluster.ssh, baseDir };
  const connectMs = parseDuration(cluster.ssh.connectTimeout);
  return {
    cluster,
    route: async (name) => resolveTarget(name, settings),
    addresses: async (hostname) => (await lookup(hostname, { all: true })).map(({ address }) => address),
    presentedKey: async (target) => presentedKey(target, connectMs),
    identities: async (target) => identitiesOf(target, cluster.ssh.transport === 'openssh'),
    withHost: async (name, use) =>
      inTurn(async () => {
        const host = await createHost(name, settings);
        try {
          return await use(host);
        } finally {
          await host.close();
        }
      }),
    service: (host, service) => serviceSpec(cluster, host, service),
    credentials: async () => {
      const [first = 'cluster'] = cluster.hosts.controlPlanes;
      const targets = await openApiTargets(cluster.api, baseDir, [{ name: first, address: 'localhost' }]);
      const target = targets.get(first);
      if (!target) throw new CertrollError('no credentials', { code: 'kube.credentials' });
      return target.credentials;
    },
    apiTarget: async (name, address) => {
      const target = (await openApiTargets(cluster.api, baseDir, [{ name, address }])).get(name);
      if (target) return target;
      throw new CertrollError(`${name} has no apiserver`, { code: 'run.unknown-host', host: name });
    },
    shown: async (url, serverName) =>
      peerCertificate(new URL(url), {
        timeoutMs: connectMs,
        ...(serverName !== undefined && { serverName }),
      }).then(
        ({ subjectaltname }) => ({ names: namesOf(subjectaltname) }),
        () => undefined,
      ),
    store: async (endpoints) => openStore({ ...cluster.etcd, endpoints: [...endpoints] }, baseDir),
    issuer: async () =>
      openIssuer(cluster.issuer, baseDir, { renewWindowMs: parseDuration(cluster.thresholds.renewBefore) }),
    read: async (path) => readFile(resolve(baseDir, path), 'utf8'),
  };
};
