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
