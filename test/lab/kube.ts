import { readFile } from 'node:fs/promises';
import type { Agent } from 'node:https';
import type { BastionPaths } from './bastion-paths.js';
import { agentFor, ask, type Answer, type Call } from './http.js';
import { readCredentials } from './kubeconfig.js';
import { API_PORT, BASTION, CLIENT_ACCOUNT } from './settings.js';

/** One pair of the matrix: what `verifier` answered to a token that `signer` minted. */
export interface MatrixEntry {
  readonly signer: string;
  readonly verifier: string;
  readonly kid: string;
  readonly status: number;
}

/** The key id in a token's header. */
export const kidOf = (token: string): string => {
  const [header = ''] = token.split('.');
  return (JSON.parse(Buffer.from(header, 'base64url').toString('utf8')) as { kid: string }).kid;
};

/** The apiservers as the lab's operator (cluster-admin) sees them, each at the address asked for. */
export class KubeClient {
  readonly #admin: Agent;
  readonly #bearer: Agent;

  private constructor(admin: Agent, bearer: Agent) {
    this.#admin = admin;
    this.#bearer = bearer;
  }

  static async open(
    options: { readonly keepAlive?: boolean; readonly bastion?: BastionPaths } = {},
  ): Promise<KubeClient> {
    const { kubeconfig } = options.bastion ?? BASTION;
    const { ca, ...client } = readCredentials(await readFile(kubeconfig, 'utf8'));
    return new KubeClient(agentFor({ ca, ...client }, options), agentFor({ ca }, options));
  }

  asAdmin(address: string, path: string, call: Omit<Call, 'url'> = {}): Promise<Answer> {
    return ask(this.#admin, { ...call, url: `https://${address}:${API_PORT}${path}` });
  }

  withToken(address: string, path: string, token: string, timeoutMs = 10_000): Promise<Answer> {
    return ask(this.#bearer, { url: `https://${address}:${API_PORT}${path}`, token, timeoutMs });
  }

  async ready(address: string): Promise<boolean> {
    return (await this.asAdmin(address, '/readyz', { timeoutMs: 3000 })).status === 200;
  }

  /** Mints a token on that apiserver (TokenRequest) for the service account that stands for calico. */
  async mint(address: string, seconds = 3600): Promise<string> {
    const path = `/api/v1/namespaces/${CLIENT_ACCOUNT.namespace}/serviceaccounts/${CLIENT_ACCOUNT.name}/token`;
    const body = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: seconds },
    };
    const answer = await this.asAdmin(address, path, { method: 'POST', body });
    if (answer.status !== 201) throw new Error(`${address} minted no token: ${answer.status} ${answer.body}`);
    return (JSON.parse(answer.body) as { status: { token: string } }).status.token;
  }

  /** The kids that the running process verifies with. */
  async jwks(address: string): Promise<string[]> {
    const answer = await this.asAdmin(address, '/openid/v1/jwks');
    if (answer.status !== 200) throw new Error(`${address} gave no keys: ${answer.status}`);
    const { keys } = JSON.parse(answer.body) as { keys: { kid: string }[] };
    // A key that stands in two --service-account-key-files is listed twice.
    return [...new Set(keys.map((key) => key.kid))].sort();
  }
}
