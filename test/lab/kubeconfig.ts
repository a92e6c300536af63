import { parse } from 'yaml';
import type { Pair } from './pki.js';
import { API_SERVER_NAME } from './settings.js';

const base64 = (pem: string): string => Buffer.from(pem).toString('base64');

/** A kubeconfig with everything inside, for one client certificate. */
export const kubeconfig = (server: string, ca: string, client: Pair): string =>
  `apiVersion: v1
kind: Config
current-context: lab
clusters:
  - name: lab
    cluster:
      server: ${server}
      tls-server-name: ${API_SERVER_NAME}
      certificate-authority-data: ${base64(ca)}
contexts:
  - name: lab
    context: { cluster: lab, user: lab }
users:
  - name: lab
    user:
      client-certificate-data: ${base64(client.cert)}
      client-key-data: ${base64(client.key)}
`;

interface Parsed {
  readonly clusters: readonly { readonly cluster: Readonly<Record<string, string>> }[];
  readonly users: readonly { readonly user: Readonly<Record<string, string>> }[];
}

/** The authority and the client certificate (PEM) of a kubeconfig that has them inside. Throws for any other. */
export const readCredentials = (text: string): Pair & { readonly ca: string } => {
  const { clusters, users } = parse(text) as Parsed;
  const pem = (of: Readonly<Record<string, string>> | undefined, name: string): string => {
    const value = of?.[name];
    if (value === undefined) throw new Error(`The kubeconfig has no ${name}`);
    return Buffer.from(value, 'base64').toString('utf8');
  };
  return {
    ca: pem(clusters[0]?.cluster, 'certificate-authority-data'),
    cert: pem(users[0]?.user, 'client-certificate-data'),
    key: pem(users[0]?.user, 'client-key-data'),
  };
};
