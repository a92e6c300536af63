import { resolve } from 'node:path';
import type { ClusterFile } from '../cluster/schema.js';
import { parseDuration } from '../core/duration.js';
import { CertrollError, EXIT, messageOf } from '../core/errors.js';
import type { ApiServer } from './api-server.js';
import { apiServer } from './client.js';

export type ApiSettings = ClusterFile['api'];

export interface ApiAddress {
  readonly name: string;
  /** The host's own address; never the load balancer's. */
  readonly address: string;
}

const urlOf = (address: string, port: number): string =>
  `https://${address.includes(':') ? `[${address}]` : address}:${port}`;

/**
 * One client per apiserver, with the credentials of the kubeconfig. Connects with the first call. Throws
 * `cluster-file.invalid` (exit 2) for a kubeconfig that cannot be used.
 */
export const openApiServers = async (
  settings: ApiSettings,
  baseDir: string,
  hosts: readonly ApiAddress[],
): Promise<ReadonlyMap<string, ApiServer>> => {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  const path = resolve(baseDir, settings.kubeconfig);
  try {
    config.loadFromFile(path);
    if (settings.context !== undefined) config.setCurrentContext(settings.context);
    if (!config.getCurrentCluster() || !config.getCurrentUser())
      throw new Error(`its context ${config.getCurrentContext() || '(none)'} names no cluster and user`);
  } catch (cause) {
    throw new CertrollError(`cannot use the kubeconfig ${path}: ${messageOf(cause)}`, {
      code: 'cluster-file.invalid',
      exit: EXIT.usage,
      hint: 'See api.kubeconfig and api.context in the cluster file.',
      cause,
    });
  }
  const timeoutMs = parseDuration(settings.timeout);
  return new Map(
    hosts.map(({ name, address }) => [
      name,
      apiServer({
        host: name,
        url: urlOf(address, settings.ports?.[name] ?? settings.port),
        serverName: settings.serverName,
        config,
        timeoutMs,
      }),
    ]),
  );
};
