import type { Agent } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { agentFor, ask } from '../http.js';
import { API_PORT } from '../settings.js';
import type { HostSpec } from '../topology.js';
import { note, type LoadCounts } from './counts.js';
import type { Token, TokenPool } from './tokens.js';

/** Older tokens per apiserver and tick; the newest of every signer goes along each time. */
const KEPT_PER_TICK = 3;
const MAX_WAITING = 60;

/** Presents tokens of all signers to every apiserver, 20 times a second, at its own address. */
export class DirectLoad {
  readonly #pool: TokenPool;
  readonly #counts: LoadCounts;
  readonly #agents: ReadonlyMap<string, Agent>;
  readonly #waiting = new Map<string, number>();
  /** Pairs of key and apiserver that were refused at the beginning and never accepted since. */
  readonly #excused = new Set<string>();
  #turn = 0;

  constructor(
    pool: TokenPool,
    counts: LoadCounts,
    ca: string,
    /** Milliseconds between two rounds. */
    readonly tickMs: number,
  ) {
    this.#pool = pool;
    this.#counts = counts;
    this.#agents = new Map(
      pool.lab.controlPlanes.map((host) => [
        host.name,
        agentFor({ ca }, { keepAlive: true, maxSockets: 16 }),
      ]),
    );
  }

  /** Notes which pairs are broken before anything is done. Not counted. */
  async lookAround(): Promise<void> {
    for (const token of this.#pool.fresh()) {
      for (const verifier of this.#pool.lab.controlPlanes) {
        const { status } = await this.#ask(token, verifier);
        if (status === 401) this.#excused.add(`${token.kid} ${verifier.name}`);
      }
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const started = performance.now();
      this.#tick();
      const rest = this.tickMs - (performance.now() - started);
      if (rest > 0) await sleep(rest, undefined, { signal }).catch(() => undefined);
    }
  }

  #tick(): void {
    const older = Array.from({ length: KEPT_PER_TICK }, () => this.#pool.kept(this.#turn++));
    const tokens = [...this.#pool.fresh(), ...older.filter((token) => token !== undefined)];
    for (const verifier of this.#pool.lab.controlPlanes) {
      for (const token of tokens) void this.#present(token, verifier);
    }
  }

  #ask(token: Token, verifier: HostSpec): Promise<{ readonly status: number }> {
    const agent = this.#agents.get(verifier.name);
    if (!agent) throw new Error(`No agent for ${verifier.name}`);
    const url = `https://${verifier.address}:${API_PORT}/version`;
    return ask(agent, { url, token: token.token, timeoutMs: 5000 });
  }

  async #present(token: Token, verifier: HostSpec): Promise<void> {
    const counts = this.#counts.direct;
    const waiting = this.#waiting.get(verifier.name) ?? 0;
    if (waiting >= MAX_WAITING) {
      counts.skipped += 1;
      return;
    }
    this.#waiting.set(verifier.name, waiting + 1);
    counts.requests += 1;
    try {
      this.#count((await this.#ask(token, verifier)).status, token, verifier);
    } catch {
      counts.unreachable += 1;
    } finally {
      this.#waiting.set(verifier.name, (this.#waiting.get(verifier.name) ?? 1) - 1);
    }
  }

  #count(status: number, token: Token, verifier: HostSpec): void {
    const counts = this.#counts.direct;
    const pair = `${token.kid} ${verifier.name}`;
    if (status === 200) {
      counts.ok += 1;
      this.#excused.delete(pair);
      return;
    }
    if (status !== 401) {
      counts.other[status] = (counts.other[status] ?? 0) + 1;
      return;
    }
    counts.unauthorized += 1;
    if (this.#excused.has(pair)) return;
    counts.newlyUnauthorized += 1;
    note(this.#counts, {
      client: 'direct',
      signer: token.signer,
      kid: token.kid,
      verifier: verifier.name,
      what: '401',
    });
  }
}
