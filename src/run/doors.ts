import type { ApplySettings, Doors } from '../changes/change.js';
import { serviceSpec, type Cluster } from '../cluster/load.js';
import { fillIn } from '../cluster/services.js';
import { parseDuration } from '../core/duration.js';
import { CertrollError, EXIT } from '../core/errors.js';
import { openStore } from '../etcd/connect.js';
import { createHosts } from '../hosts/connect.js';
import type { ServiceSpec } from '../hosts/host.js';
import { openIssuer } from '../issuers/open.js';
import { openApiServers } from '../kube/connect.js';
import type { ServiceName } from '../trust/world.js';

const SERVICES: readonly ServiceName[] = ['kube-apiserver', 'kube-controller-manager'];

/** The services that the cluster file says run on a control plane. */
export const servicesOn = (
  cluster: Cluster,
  host: string,
): Readonly<Partial<Record<ServiceName, ServiceSpec>>> =>
  Object.fromEntries(
    SERVICES.flatMap((name) => {
      const spec = serviceSpec(cluster, host, name);
      return spec ? [[name, spec]] : [];
    }),
  );

/** What is opened for a run, and how it is closed. */
export interface OpenDoors extends Doors {
  close(): Promise<void>;
}

const known = <T>(map: ReadonlyMap<string, T>, name: string): T => {
  const found = map.get(name);
  if (found === undefined)
    throw new CertrollError(`${name} is not a control plane of the cluster file`, {
      code: 'run.unknown-host',
      host: name,
    });
  return found;
};

/** Opens the doors to a cluster's hosts, apiservers, etcd and issuer. Nothing is connected yet, except to resolve addresses. */
export const openDoors = async (cluster: Cluster): Promise<OpenDoors> => {
  const names = cluster.hosts.controlPlanes;
  const [store, issuer, hosts] = await Promise.all([
    openStore(cluster.etcd, cluster.baseDir),
    openIssuer(cluster.issuer, cluster.baseDir, {
      renewWindowMs: parseDuration(cluster.thresholds.renewBefore),
    }),
    createHosts(names, { ssh: cluster.ssh, baseDir: cluster.baseDir }),
  ]);
  const addresses = await Promise.all(
    names.map(async (name) => ({ name, address: await known(hosts, name).address() })),
  );
  const apis = await openApiServers(cluster.api, cluster.baseDir, addresses);
  return {
    host: (name) => known(hosts, name),
    api: (name) => known(apis, name),
    apiHosts: names,
    store,
    issuer,
    service: (host, service) => {
      const spec = serviceSpec(cluster, host, service);
      if (!spec)
        throw new CertrollError(`the cluster file says that no ${service} runs on ${host}`, {
          code: 'run.no-service',
          exit: EXIT.usage,
          host,
        });
      return spec;
    },
    close: async () => {
      await Promise.allSettled([store.close(), ...[...hosts.values()].map(async (host) => host.close())]);
    },
  };
};

/** What of the cluster file the changes need, durations in milliseconds. */
export const applySettings = (cluster: Cluster): ApplySettings => ({
  registryPrefix: cluster.etcd.prefix.replace(/\/+$/, ''),
  certificateTtlMs: parseDuration(cluster.serviceAccounts.ttl),
  probe: cluster.serviceAccounts.probe,
  readyTimeoutMs: parseDuration(cluster.restart.readyTimeout),
  readyTimes: cluster.restart.readyTimes,
  settleMs: parseDuration(cluster.restart.settle),
  drain: (host) => cluster.restart.drain?.map((word) => fillIn(word, host)),
  undrain: (host) => cluster.restart.undrain?.map((word) => fillIn(word, host)),
});
