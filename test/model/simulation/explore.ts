import type { Doors } from '../../../src/changes/change.js';
import type { Plan } from '../../../src/changes/plan.js';
import { Draft } from '../../../src/changes/plan.js';
import { readRegistry } from '../../../src/changes/registry.js';
import { bindInputs, type InputValue } from '../../../src/cookbook/inputs.js';
import { loadCookbook, type Cookbook } from '../../../src/cookbook/load.js';
import { CertrollError } from '../../../src/core/errors.js';
import type { Store } from '../../../src/etcd/store.js';
import type { Host } from '../../../src/hosts/host.js';
import type { JournalLine } from '../../../src/run/journal.js';
import { makePlan } from '../../../src/run/plan.js';
import { proveAll } from '../../../src/run/prove-all.js';
import { checkUnchanged } from '../../../src/run/unchanged.js';
import { run, type RunResult } from '../../../src/run/run.js';
import { stepCatalog } from '../../../src/steps/catalog.js';
import { rollBack, type Before } from '../../../src/steps/sa-keys/roll-back.js';
import type { Site } from '../../../src/steps/step.js';
import type { World } from '../../../src/trust/world.js';
import { LOCK, PKI, SimCluster, TOKEN_LIFE_MS, TTL_S, Violation } from './cluster.js';
import { PEACE, SimDoors, type Faults } from './doors.js';
import type { SimKey } from './keys.js';
import { Actor, Random } from './scheduler.js';

const PREFIX = '/certroll';
const CLUSTER = 'sim';
const PROBE = { namespace: 'kube-system', name: 'default' };

/** A defect planted into certroll, which the exploration must find. */
export interface Planted {
  readonly plan?: (plan: Plan) => Plan;
  readonly world?: (world: World) => World;
  readonly store?: (store: Store) => Store;
  /** Faults that the defect needs to show, where they are rare. */
  readonly faults?: Faults;
  /** The proof would refuse what is planted; without it the simulation alone has to notice. */
  readonly unproved?: boolean;
  /** A host is not looked at again before a change of it, and its fence knows nothing of its files. */
  readonly unlooked?: boolean;
}

export interface Explored {
  /** Moments at which all invariants were checked. */
  readonly steps: number;
  readonly runs: number;
  readonly killed: number;
  readonly failed: number;
}

/** CERTROLL_MODEL_TRACE=1 shows what happened in a history. */
const trace = (cluster: SimCluster, run: string, event: object): void => {
  if (process.env['CERTROLL_MODEL_TRACE'] === undefined) return;
  process.stderr.write(`${(cluster.now / 1000).toFixed(1)} ${run} ${JSON.stringify(event)}\n`);
};

/** Hosts whose fences know nothing of their files. */
const unlooked = (doors: Doors): Doors => {
  const blind = (host: Host): Host => ({ ...host, fenced: ({ leftMs }) => blind(host.fenced({ leftMs })) });
  return { ...doors, host: (name) => blind(doors.host(name)) };
};

type Job =
  | { readonly cookbook: Cookbook; readonly inputs: Readonly<Record<string, InputValue>> }
  | { readonly before: Before };

export const loadCookbooks = async () => ({
  rotate: await loadCookbook('rotate-sa-keys', [], stepCatalog),
  retire: await loadCookbook('retire-sa-keys', [], stepCatalog),
  restart: await loadCookbook('restart-apiservers', [], stepCatalog),
});
type Cookbooks = Awaited<ReturnType<typeof loadCookbooks>>;

/** One random history of a cluster: runs, faults, other automations; then peace, in which running again must finish. */
export class Exploration {
  readonly #random: Random;
  readonly #cluster: SimCluster;
  readonly #mode: Site['mode'];
  readonly #befores: Before[] = [];
  #runs = 0;
  #killed = 0;
  #failed = 0;
  #rolledBack = false;

  constructor(
    seed: number,
    keys: readonly SimKey[],
    readonly cookbooks: Cookbooks,
    readonly planted: Planted = {},
  ) {
    this.#random = new Random(seed);
    const names = ['cp1', 'cp2', 'cp3'].slice(0, this.#random.pick([1, 2, 3, 3, 3]));
    this.#cluster = new SimCluster(this.#random, keys, names, this.#random.chance(0.5));
    this.#mode = this.#random.chance(0.3) ? 'shared' : 'per-host';
  }

  async explore(): Promise<Explored> {
    const rounds = 2 + this.#random.below(4);
    for (let round = 0; round < rounds && this.#cluster.hasKeys; round += 1) {
      trace(this.#cluster, '-', { round, mode: this.#mode });
      await this.#round();
      this.#cluster.scheduler.now += this.#random.below(TOKEN_LIFE_MS * 1.5);
    }
    await this.#finish();
    return {
      steps: this.#cluster.steps,
      runs: this.#runs,
      killed: this.#killed,
      failed: this.#failed,
    };
  }

  #faults(): Faults {
    if (this.planted.faults) return this.planted.faults;
    const { chance } = { chance: (p: number, value: number) => (this.#random.chance(p) ? value : 0) };
    return {
      kill: chance(0.6, 0.01),
      pause: chance(0.5, 0.02),
      lost: chance(0.4, 0.02),
      cut: chance(0.2, 0.01),
      etcd: chance(0.2, 0.02),
    };
  }

  /** Some runs, from one bastion or two, among other automations. */
  async #round(): Promise<void> {
    const actors: (readonly [Actor, () => Promise<void>])[] = [];
    const bastions = this.#random.chance(0.2) ? 2 : 1;
    for (let at = 0; at < bastions; at += 1) {
      const actor = new Actor(`certroll ${at + 1}`);
      actors.push([
        actor,
        async () => {
          await this.#perform(actor, this.#job(), this.#faults());
        },
      ]);
    }
    if (this.planted.faults || this.#random.chance(0.5)) {
      const actor = new Actor('etcdctl lock');
      actors.push([actor, async () => this.#automation(actor)]);
    }
    if (this.planted.unlooked === true || this.#random.chance(0.3)) {
      const actor = new Actor('another operator');
      actors.push([actor, async () => this.#operator(actor)]);
    }
    await this.#cluster.scheduler.run(actors);
    this.#killed += actors.filter(([actor]) => actor.isDead).length;
  }

  #job(): Job {
    const { rotate, retire, restart } = this.cookbooks;
    const [before] = this.#befores.slice(-1);
    const choice = this.#random.below(10);
    if (choice === 0) return { cookbook: restart, inputs: {} };
    if (choice <= 2) return { cookbook: retire, inputs: { wait: this.#random.chance(0.5) } };
    if (choice === 3 && before) {
      this.#rolledBack = true;
      return { before };
    }
    return { cookbook: rotate, inputs: { force: this.#random.chance(0.7) } };
  }

  /** Restarts apiservers as a unit on a host does that is run under `etcdctl lock`. */
  async #automation(actor: Actor): Promise<void> {
    const cluster = this.#cluster;
    const turn = async (): Promise<void> => cluster.scheduler.step(actor);
    for (let times = 1 + this.#random.below(3); times > 0; times -= 1) {
      for (let wait = this.#random.below(80); wait > 0; wait -= 1) await turn();
      const lease = cluster.grant(LOCK, actor, '');
      while (cluster.holder(LOCK) !== lease && cluster.leases.has(lease.key)) await turn();
      if (cluster.leases.has(lease.key)) {
        const host = this.#random.pick([...cluster.hosts.values()]);
        cluster.restart(host, 'kube-apiserver', actor);
        while (host.restartingUntil > cluster.now) await turn();
      }
      cluster.leases.delete(lease.key);
    }
  }

  /** Has some apiservers trust a key of his own, whose tokens are in use from that moment on; asks nobody. */
  async #operator(actor: Actor): Promise<void> {
    for (let wait = this.#random.below(150); wait > 0; wait -= 1) await this.#cluster.scheduler.step(actor);
    const names = [...this.#cluster.hosts.keys()];
    const chosen = names.filter(() => this.#random.chance(0.6));
    trace(this.#cluster, actor.name, { trustsAKeyOn: chosen });
    if (chosen.length > 0) this.#cluster.trustOutside(chosen);
  }

  /** One run of certroll. Undefined when it ended with an error of its own kind: anything else is a defect. */
  async #perform(actor: Actor, job: Job, faults: Faults): Promise<RunResult | undefined> {
    this.#runs += 1;
    this.#last = undefined;
    const sim = new SimDoors(this.#cluster, actor, faults);
    const open = this.planted.unlooked === true ? unlooked(sim.doors()) : sim.doors();
    const doors = { ...open, store: this.planted.store?.(open.store) ?? open.store };
    const names = [...this.#cluster.hosts.keys()];
    const id = `run-${this.#runs}`;
    const site: Site = {
      hosts: names,
      mode: this.#mode,
      algorithm: 'ecdsa-p256',
      certified: true,
      renewBeforeMs: 30 * 86_400_000,
      jwksMaxAgeMs: 0,
      bundle: undefined,
      certificate: undefined,
      runId: id,
    };
    const write = async (line: JournalLine): Promise<void> =>
      sim.call(() => {
        if (line.type === 'before') this.#befores.push(line as unknown as Before);
      });
    try {
      return await run({
        id,
        cluster: CLUSTER,
        cookbook: 'before' in job ? 'rollback' : job.cookbook.name,
        inputs: {},
        reason: undefined,
        taskId: undefined,
        dryRun: false,
        doors,
        observation: {
          cluster: CLUSTER,
          hosts: names,
          doors,
          services: () => ({
            'kube-apiserver': open.service('', 'kube-apiserver'),
            'kube-controller-manager': open.service('', 'kube-controller-manager'),
          }),
          registryPrefix: PREFIX,
          probe: PROBE,
          certificate: undefined,
          soakMs: undefined,
          legacyTokens: true,
          previous: 'before' in job,
          now: () => new Date(this.#cluster.now),
        },
        makePlan: ({ world }) => this.#plan(job, world, site),
        settings: {
          registryPrefix: PREFIX,
          certificateTtlMs: 86_400_000,
          probe: PROBE,
          readyTimeoutMs: 60_000,
          readyTimes: 1,
          settleMs: 0,
          drain: () => undefined,
          undrain: () => undefined,
        },
        limits: { clockSkewMs: 10_000, freeBytes: 0 },
        lock: { name: LOCK, ttl: TTL_S, waitMs: 600_000 },
        openJournal: () => Promise.resolve({ path: '', write, close: () => Promise.resolve() }),
        prove: this.planted.unproved === true ? () => undefined : proveAll,
        checkUnchanged: this.planted.unlooked === true ? () => undefined : checkUnchanged,
        timers: sim.timers(),
        emit: (event) => trace(this.#cluster, id, event),
        confirm: () => Promise.resolve(true),
        signal: new AbortController().signal,
        now: () => new Date(this.#cluster.now),
      });
    } catch (thrown) {
      if (!(thrown instanceof CertrollError)) throw thrown;
      trace(this.#cluster, id, { type: 'error', code: thrown.code, text: thrown.message });
      this.#failed += 1;
      this.#last = thrown;
      return undefined;
    }
  }

  #last: CertrollError | undefined;

  #plan(job: Job, world: World, site: Site): Plan {
    const seen = this.planted.world?.(world) ?? world;
    if ('before' in job) {
      const draft = new Draft(seen);
      rollBack(draft, job.before, site);
      return draft.finish('rollback');
    }
    const inputs = bindInputs(job.cookbook, job.inputs);
    const plan = makePlan(seen, { cookbook: job.cookbook, inputs, steps: stepCatalog, site });
    return this.planted.plan?.(plan) ?? plan;
  }

  /** A run that nothing befalls. It must end well. */
  async #inPeace(job: Job): Promise<RunResult> {
    const actor = new Actor('certroll in peace');
    let result: RunResult | undefined;
    await this.#cluster.scheduler.run([
      [actor, async () => void (result = await this.#perform(actor, job, PEACE))],
    ]);
    if (!result) throw new Violation(`running again did not finish: ${this.#last?.message ?? ''}`);
    return result;
  }

  async #finish(): Promise<void> {
    const cluster = this.#cluster;
    cluster.scheduler.now += 120_000;
    await this.#inPeace({ cookbook: this.cookbooks.rotate, inputs: {} });
    cluster.scheduler.now += TOKEN_LIFE_MS + 1000;
    await this.#inPeace({ cookbook: this.cookbooks.retire, inputs: { wait: false } });
    if (cluster.leases.size > 0) throw new Violation('a lock is held by nobody');
    await this.#checkRegistry();
  }

  async #checkRegistry(): Promise<void> {
    const cluster = this.#cluster;
    const actor = new Actor('judge');
    let registry: Awaited<ReturnType<typeof readRegistry>> | undefined;
    const store = new SimDoors(cluster, actor, PEACE).store();
    await cluster.scheduler.run([
      [actor, async () => void (registry = await readRegistry(store, PREFIX, CLUSTER))],
    ]);
    const { records = [], rotation } = registry ?? {};
    if (rotation && rotation.state !== 'done') throw new Violation(`rotation ${rotation.id} is open`);
    const known = new Set(records.map(({ key }) => key));
    const lost = cluster.generated.find((kid) => !known.has(kid));
    if (lost !== undefined && !this.#rolledBack)
      throw new Violation(`key ${lost} was generated and forgotten`);
    const most = this.#mode === 'shared' ? 1 : cluster.hosts.size;
    for (const id of new Set(records.flatMap((record) => record.rotation ?? []))) {
      const issued = records.filter((record) => record.rotation === id).length;
      if (issued > most) throw new Violation(`rotation ${id} issued ${issued} keys`);
    }
    for (const host of cluster.hosts.values()) {
      const staged = [...host.files.keys()].filter((path) => path.endsWith('.certroll-next'));
      // A rollback that was stopped may leave some: nothing goes on with it but another rollback.
      if (staged.length > 0 && !this.#rolledBack)
        throw new Violation(`${host.name}: ${staged.join()} was left behind`);
      const signs = cluster.byPem.get(host.files.get(PKI.key)?.content ?? '')?.kid;
      const state = records.find(({ key }) => key === signs)?.state;
      if (records.length > 0 && state !== 'promoted')
        throw new Violation(`the signer of ${host.name} is ${state ?? 'unknown'}`);
    }
  }
}
