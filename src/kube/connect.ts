import { resolve } from 'node:path';
import type { ClusterFile } from '../cluster/schema.js';
import { parseDuration } from '../core/duration.js';
import { CertrollError, EXIT, messageOf } from '../core/errors.js';
import { oneLine } from '../core/text.js';
import type { ApiServer } from './api-server.js';
import { apiServer } from './client.js';
import { credentialsOf, type Credentials } from './credentials.js';
import { loadKubeconfig } from './kubeconfig.js';
import type { ApiTarget } from './request.js';

export type ApiSettings = ClusterFile['api'];

export interface ApiAddress {
  readonly name: string;
  /** The host's own address; never the load balancer's. */
  readonly address: string;
}

const urlOf = (address: string, port: number): string =>
  `https://${address.includes(':') ? `[${address}]` : address}:${port}`;

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
  const path = resolve(baseDir, settings.kubeconfig);
  let credentials: Credentials;
  try {
    const config = await loadKubeconfig(path, settings.context);
    if (config.cluster.skipTLSVerify)
      throw new Error(
        `its cluster ${config.cluster.name} says insecure-skip-tls-verify: nobody would know who answers`,
      );
    credentials = credentialsOf(config, path);
  } catch (thrown) {
    throw new CertrollError(`cannot use the kubeconfig ${path}: ${oneLine(messageOf(thrown))}`, {
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
