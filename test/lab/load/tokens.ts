import { setTimeout as sleep } from 'node:timers/promises';
import { KubeClient, kidOf } from '../kube.js';
import type { HostSpec, Topology } from '../topology.js';
import { note, type LoadCounts } from './counts.js';

export interface Token {
  readonly token: string;
  readonly kid: string;
  readonly signer: string;
}

/** Every fifth token of a signer is kept; with one a second, that covers a run of several minutes. */
const KEEP_EVERY = 5;
const MAX_KEPT = 60;

/**
 * Tokens minted at every apiserver about once a second: the newest of each signer, and older ones, the very
 * first included, which clients in the field would still use.
 */
export class TokenPool {
  readonly #fresh = new Map<string, Token>();
  readonly #kept: Token[] = [];
  readonly #kube: KubeClient;
  readonly #counts: LoadCounts;
  #mints = 0;

  private constructor(
    readonly lab: Topology,
    kube: KubeClient,
    counts: LoadCounts,
  ) {
    this.#kube = kube;
    this.#counts = counts;
  }

  static async open(lab: Topology, counts: LoadCounts): Promise<TokenPool> {
    const pool = new TokenPool(lab, await KubeClient.open({ keepAlive: true, bastion: lab.bastion }), counts);
    await Promise.all(lab.controlPlanes.map((host) => pool.#mint(host, true)));
    return pool;
  }

  async #mint(host: HostSpec, keep: boolean): Promise<void> {
    const token = await this.#kube.mint(host.address);
    const minted = { token, kid: kidOf(token), signer: host.name };
    this.#counts.minted += 1;
    if (!this.#counts.kids.includes(minted.kid)) this.#counts.kids.push(minted.kid);
    this.#fresh.set(host.name, minted);
    if (keep && this.#kept.length < MAX_KEPT) this.#kept.push(minted);
  }

  /** Mints until stopped. An apiserver that restarts mints nothing: its last token stays the newest. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#mints += 1;
      const keep = this.#mints % KEEP_EVERY === 0;
      await Promise.all(
        this.lab.controlPlanes.map((host) =>
          this.#mint(host, keep).catch((error: unknown) =>
            note(this.#counts, { client: 'mint', signer: host.name, what: String(error) }),
          ),
        ),
      );
      await sleep(1000, undefined, { signal }).catch(() => undefined);
    }
  }

  fresh(): Token[] {
    return [...this.#fresh.values()];
  }

  /** An older token: all are used in turn. */
  kept(turn: number): Token | undefined {
    return this.#kept[turn % this.#kept.length];
  }

  random(): Token | undefined {
    const all = [...this.#fresh.values(), ...this.#kept];
    return all[Math.floor(Math.random() * all.length)];
  }
}
