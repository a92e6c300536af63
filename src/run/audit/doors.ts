import { fillIn } from '../../cluster/services.js';
import type { Cluster } from '../../cluster/load.js';
import type { Component } from '../../audit/consumers.js';
import { CertrollError } from '../../core/errors.js';
import { memo } from '../../core/memo.js';
import { createHost } from '../../hosts/connect.js';
import { resolveTarget } from '../../hosts/ssh-config.js';
import { apiServer } from '../../kube/client.js';
import { openApiTargets } from '../../kube/connect.js';
import { trustObjects } from '../../kube/trust-objects.js';
import type { AuditDoors } from './cluster.js';

const SERVICES = { apiserver: 'kube-apiserver', controllerManager: 'kube-controller-manager' } as const;

/** How the cluster file says that the processes of a control plane are found. */
const findingOf = (
  { services }: Cluster,
  host: string,
): Pick<AuditDoors['hosts'][number]['look'], 'pidFiles' | 'without'> => {
  const pidFiles: { program: Component; path: string }[] = [];
  const without: Component[] = [];
  for (const key of ['apiserver', 'controllerManager'] as const) {
    const service = services[key];
    if (service === false) without.push(SERVICES[key]);
    else if ('command' in service)
      pidFiles.push({ program: SERVICES[key], path: fillIn(service.command.pidFile, host) });
  }
  return { pidFiles, without };
};

/**
 * The doors of an audit: each host is opened when it is its turn and closed after it, so that many hosts take no more than
 * those whose turn it is. Opens neither etcd nor the issuer. Throws `cluster-file.invalid` for a kubeconfig that cannot be used.
 */
export const openAuditDoors = async (
  cluster: Cluster,
  inTurn: <T>(work: () => Promise<T>) => Promise<T>,
  { secrets = false }: { readonly secrets?: boolean } = {},
): Promise<AuditDoors> => {
  const { controlPlanes, nodes } = cluster.hosts;
  const settings = { ssh: cluster.ssh, baseDir: cluster.baseDir };
  const targetOf = async (name: string) => {
    const { hostname } = await resolveTarget(name, settings);
    const targets = await openApiTargets(cluster.api, cluster.baseDir, [{ name, address: hostname }]);
    const target = targets.get(name);
    if (!target)
      throw new CertrollError(`${name} has no apiserver`, { code: 'run.unknown-host', host: name });
    return target;
  };
  const target = memo(controlPlanes.length + 1, targetOf);
  // A kubeconfig that cannot be used is a mistake of the cluster file, not a finding.
  await openApiTargets(cluster.api, cluster.baseDir, []);
  return {
    cluster: cluster.name,
    hosts: [
      ...controlPlanes.map((name) => ({
        name,
        look: { role: 'control-plane' as const, ...findingOf(cluster, name) },
      })),
      ...nodes.map((name) => ({ name, look: { role: 'node' as const, pidFiles: [], without: [] } })),
    ],
    withHost: async (name, use) =>
      inTurn(async () => {
        const host = await createHost(name, settings);
        try {
          return await use(host);
        } finally {
          await host.close();
        }
      }),
    jwks: async (name) => [...(await apiServer(await target(name)).jwks()).keys()],
    objects: async (name) => trustObjects(await target(name), { secrets }),
  };
};
