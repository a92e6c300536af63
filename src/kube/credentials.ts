import type { KubeConfig } from '@kubernetes/client-node';
import { readFile } from 'node:fs/promises';
import type { OutgoingHttpHeaders } from 'node:http';
import type { RequestOptions } from 'node:https';
import { createSecureContext } from 'node:tls';
import { execCredentials } from './exec-credentials.js';
import type { Kubeconfig } from './kubeconfig.js';

/** What a request is sent with: client certificate, CAs, headers. */
export type Credentials = () => Promise<RequestOptions>;

/** What is written in a kubeconfig, or in the files that it names. */
const written = async ({ cluster, user }: Kubeconfig): Promise<RequestOptions> => {
  const read = async (file: string | undefined, data: string | undefined): Promise<Buffer | undefined> =>
    file ? readFile(file) : data ? Buffer.from(data, 'base64') : undefined;
  const [ca, cert, key] = await Promise.all([
    read(cluster.caFile, cluster.caData),
    read(user.certFile, user.certData),
    read(user.keyFile, user.keyData),
  ]);
  return {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(user.username && { auth: `${user.username}:${user.password ?? ''}` }),
    headers: {
      ...(user.impersonateUser && { 'Impersonate-User': user.impersonateUser }),
      ...(user.token && { Authorization: `Bearer ${user.token}` }),
    },
  };
};

/** `auth-provider`, long deprecated, is left to client-node, which is loaded for nothing else. */
const fromProvider = ({ cluster, user }: Kubeconfig): Credentials => {
  const load = async (): Promise<KubeConfig> => {
    const client = await import('@kubernetes/client-node');
    const config = new client.KubeConfig();
    config.loadFromClusterAndUser(cluster, { ...user, exec: undefined });
    return config;
  };
  let config: Promise<KubeConfig> | undefined;
  return async () => {
    const options: RequestOptions = {};
    await (await (config ??= load())).applyToHTTPSOptions(options);
    // It is for the load balancer's address, and holds a proxy that the environment names.
    delete options.agent;
    return options;
  };
};

/** The credentials of a kubeconfig, read anew for each request: files may be renewed meanwhile. */
export const credentialsOf = (config: Kubeconfig, path: string): Credentials => {
  const ask = config.user.exec ? execCredentials(config.user.exec, path) : undefined;
  const base = config.user.authProvider ? fromProvider(config) : () => written(config);
  return async () => {
    const options = await base();
    const given = await ask?.();
    if (given?.clientCertificateData !== undefined) options.cert = given.clientCertificateData;
    if (given?.clientKeyData !== undefined) options.key = given.clientKeyData;
    if (given?.token !== undefined)
      options.headers = {
        ...(options.headers as OutgoingHttpHeaders | undefined),
        Authorization: `Bearer ${given.token}`,
      };
    // Fails here, and not somewhere in a connection, for a key that does not fit its certificate.
    createSecureContext(options);
    return options;
  };
};
