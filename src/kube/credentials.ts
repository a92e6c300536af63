import type { KubeConfig } from '@kubernetes/client-node';
import type { OutgoingHttpHeaders } from 'node:http';
import type { RequestOptions } from 'node:https';
import { createSecureContext } from 'node:tls';
import { execCredentials } from './exec-credentials.js';

/** What a request is sent with: client certificate, CAs, headers. */
export type Credentials = () => Promise<RequestOptions>;

/** The credentials of a kubeconfig's current context, read anew for each request: files may be renewed meanwhile. */
export const credentialsOf = (config: KubeConfig, kubeconfig: string): Credentials => {
  const user = config.getCurrentUser();
  const ask = user?.exec ? execCredentials(user.exec, kubeconfig) : undefined;
  const cluster = config.getCurrentCluster();
  if (ask && user && cluster) config.loadFromClusterAndUser(cluster, { ...user, exec: undefined });
  return async () => {
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    // It is for the load balancer's address, and holds a proxy that the environment names.
    delete options.agent;
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
