import type { Agent } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { agentFor, ask, NoAnswer, type Answer } from '../http.js';
import { API_PORT, CLIENT_ACCOUNT } from '../settings.js';
import { note, type LoadCounts } from './counts.js';
import type { Token, TokenPool } from './tokens.js';

const CLIENTS = 6;
const PAUSE_MS = 50;
/** As in client-go: so many times a request is sent again when the server says when to come. */
const MAX_LATER = 10;

const PATH = `/api/v1/namespaces/${CLIENT_ACCOUNT.namespace}/serviceaccounts/${CLIENT_ACCOUNT.name}`;

/** Clients that keep their connections through the load balancer, and retry as client-go does. */
export class BalancedLoad {
  readonly #pool: TokenPool;
  readonly #counts: LoadCounts;
  readonly #ca: string;

  constructor(pool: TokenPool, counts: LoadCounts, ca: string) {
    this.#pool = pool;
    this.#counts = counts;
    this.#ca = ca;
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(Array.from({ length: CLIENTS }, () => this.#client(signal)));
  }

  async #client(signal: AbortSignal): Promise<void> {
    const agent = agentFor({ ca: this.#ca }, { keepAlive: true, maxSockets: 1 });
    while (!signal.aborted) {
      const token = this.#pool.random();
      if (token) await this.#request(agent, token);
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
    agent.destroy();
  }

  async #request(agent: Agent, token: Token): Promise<void> {
    const counts = this.#counts.balanced;
    counts.requests += 1;
    let what: string;
    try {
      const { status } = await this.#persist(agent, token);
      what = String(status);
      if (status === 200) counts.ok += 1;
      else if (status === 401) counts.unauthorized += 1;
      else counts.failed += 1;
      if (status === 200) return;
    } catch (error) {
      counts.failed += 1;
      what = error instanceof NoAnswer ? `${error.code}: ${error.message}` : String(error);
    }
    note(this.#counts, { client: 'balanced', signer: token.signer, kid: token.kid, what });
  }

  /** Sends a request until it is answered for good. */
  async #persist(agent: Agent, token: Token): Promise<Answer> {
    for (let attempt = 0; ; attempt += 1) {
      const answer = await this.#send(agent, token);
      const wait = answer.retryAfter;
      if (wait === undefined || attempt >= MAX_LATER) return answer;
      if (answer.status !== 429 && answer.status < 500) return answer;
      this.#counts.balanced.retriedLater += 1;
      await sleep(wait * 1000);
    }
  }

  /** One request; once more on a new connection when the old one turned out to be closed. */
  async #send(agent: Agent, token: Token): Promise<Answer> {
    const { address } = this.#pool.lab.loadBalancer;
    const call = { url: `https://${address}:${API_PORT}${PATH}`, token: token.token, timeoutMs: 15_000 };
    try {
      return await ask(agent, call);
    } catch (error) {
      if (!(error instanceof NoAnswer && error.reused && error.code === 'ECONNRESET')) throw error;
      this.#counts.balanced.retriedIdle += 1;
      return ask(agent, call);
    }
  }
}
