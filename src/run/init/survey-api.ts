import { isIP } from 'node:net';
import { basename } from 'node:path';
import { z } from 'zod';
import { messageOf } from '../../core/errors.js';
import { oneLine } from '../../core/text.js';
import type { SeenApi } from '../../init/seen.js';
import { askFromHost, ADMIN_CONF } from '../../hosts/surroundings.js';
import type { Host } from '../../hosts/host.js';
import { ask } from '../../kube/ask.js';
import { listCluster, type GetJson } from '../../kube/control-planes.js';
import { credentialsOf } from '../../kube/credentials.js';
import { loadKubeconfig } from '../../kube/kubeconfig.js';
import type { ApiTarget } from '../../kube/request.js';

const TIMEOUT_MS = 10_000;
/** Of nodes each has some kilobytes. */
const MAX_BYTES = 64 * 1024 * 1024;

/** A kubeconfig that was read. */
export interface UsableKubeconfig {
  readonly path: string;
  /** What it calls its cluster. */
  readonly clusterName: string;
  /** Its own server, the load balancer as a rule. */
  readonly target: ApiTarget;
}

/** Reads a kubeconfig. Rejects with an error that quotes nothing secret. */
export const readKubeconfig = async (path: string, context?: string): Promise<UsableKubeconfig> => {
  const config = await loadKubeconfig(path, context);
  if (config.cluster.skipTLSVerify)
    throw new Error('it says insecure-skip-tls-verify: nobody would know who answers');
  const { hostname } = new URL(config.cluster.server);
  const serverName = config.cluster.tlsServerName ?? hostname.replace(/^\[|\]$/g, '');
  return {
    path,
    clusterName: config.cluster.name,
    target: {
      host: config.cluster.name,
      url: config.cluster.server,
      // No address goes into a TLS server name (RFC 6066); it is then checked by itself.
      serverName: isIP(serverName) === 0 ? serverName : '',
      credentials: credentialsOf(config, path),
      timeoutMs: TIMEOUT_MS,
    },
  };
};

const surveyBy = async (get: GetJson, how: string): Promise<SeenApi> => {
  const { unread, ...listed } = await listCluster(get);
  return { how, ...listed, unread };
};

/** Asks the API for its control planes, at the server of the kubeconfig or at an apiserver's own address. */
export const surveyApi = async (
  kubeconfig: UsableKubeconfig,
  own?: { readonly url: string; readonly serverName: string },
): Promise<SeenApi> => {
  const target = { ...kubeconfig.target, ...own };
  return surveyBy(
    async (path) => ask(target, { method: 'GET', path, maxBytes: MAX_BYTES }, z.unknown()),
    `asked of ${target.url} with ${basename(kubeconfig.path)}`,
  );
};

/** The same, by kubectl on a control plane with its own admin's kubeconfig. */
export const surveyApiFromHost = async (host: Host): Promise<SeenApi> =>
  surveyBy(async (path) => askFromHost(host, path), `asked by kubectl on ${host.name} with ${ADMIN_CONF}`);

/** Why a kubeconfig cannot be used, for people. */
export const whyUnusable = (path: string, thrown: unknown): string =>
  `cannot use the kubeconfig ${path}: ${oneLine(messageOf(thrown))}`;
