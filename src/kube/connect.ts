import { resolve } from 'node:path';
import type { ClusterFile } from '../cluster/schema.js';
import { parseDuration } from '../core/duration.js';
import { CertrollError, EXIT, messageOf } from '../core/errors.js';
import { oneLine } from '../core/text.js';
import type { ApiServer } from './api-server.js';
import { apiServer } from './client.js';
import { credentialsOf, type Credentials } from './credentials.js';
import type { ApiTarget } from './request.js';

export type ApiSettings = ClusterFile['api'];

export interface ApiAddress {
  readonly name: string;
  /** The host's own address; never the load balancer's. */
  readonly address: string;
}

const urlOf = (address: string, port: number): string =>
  `https://${address.includes(':') ? `[${address}]` : address}:${port}`;

/** Why a kubeconfig cannot be used. The YAML reader's own messages quote the lines around: keys and tokens. */
const whyUnusable = (thrown: unknown): string => {
  const { reason, mark } = thrown as { reason?: unknown; mark?: { line?: number } };
  if (typeof reason === 'string') return `line ${(mark?.line ?? 0) + 1}: ${reason}`;
  return messageOf(thrown);
};

/**
 * One client per apiserver, with the credentials of the kubeconfig; its server, server name and proxy are for the load
 * balancer and not used. Connects with the first call. Throws `cluster-file.invalid` (exit 2) for a kubeconfig that
 * cannot be used.
 */
export const openApiServers = async (
  settings: ApiSettings,
  baseDir: string,
  hosts: readonly ApiAddress[],
): Promise<ReadonlyMap<string, ApiServer>> => {
  const targets = await openApiTargets(settings, baseDir, hosts);
  return new Map([...targets].map(([name, target]) => [name, apiServer(target)]));
};

/** What requests to those apiservers are sent with; throws as `openApiServers` does. */
export const openApiTargets = async (
  settings: ApiSettings,
  baseDir: string,
  hosts: readonly ApiAddress[],
): Promise<ReadonlyMap<string, ApiTarget>> => {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  const path = resolve(baseDir, settings.kubeconfig);
  let credentials: Credentials;
  try {
    config.loadFromFile(path);
    if (settings.context !== undefined) config.setCurrentContext(settings.context);
    const cluster = config.getCurrentCluster();
    if (!cluster || !config.getCurrentUser())
      throw new Error(`its context ${config.getCurrentContext() || '(none)'} names no cluster and user`);
    if (cluster.skipTLSVerify)
      throw new Error(
        `its cluster ${cluster.name} says insecure-skip-tls-verify: nobody would know who answers`,
      );
    credentials = credentialsOf(config, path);
  } catch (thrown) {
    throw new CertrollError(`cannot use the kubeconfig ${path}: ${oneLine(whyUnusable(thrown))}`, {
      code: 'cluster-file.invalid',
      exit: EXIT.usage,
      hint: 'See api.kubeconfig and api.context in the cluster file.',
    });
  }
  const timeoutMs = parseDuration(settings.timeout);
  return new Map(
    hosts.map(({ name, address }) => [
      name,
      {
        host: name,
        url: urlOf(address, settings.ports?.[name] ?? settings.port),
        serverName: settings.serverName,
        credentials,
        timeoutMs,
      },
    ]),
  );
};
