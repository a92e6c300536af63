import { CertrollError } from '../../../src/core/errors.js';
import { readVerificationKeys } from '../../../src/pem/keys.js';
import type { ServiceName } from '../../../src/trust/world.js';
import type { SimKey } from './keys.js';
import type { Actor, Random } from './scheduler.js';
import { Scheduler } from './scheduler.js';

export const PKI = {
  key: '/pki/sa.key',
  certificate: '/pki/sa.crt',
  bundle: '/pki/sa-verification-keys.pem',
} as const;

/** Virtual milliseconds. */
export const TOKEN_LIFE_MS = 7_200_000;
const RESTART_MS = 4000;
/** A history has some hundreds to some thousands. */
const MOST_STEPS = 50_000;
export const TTL_S = 30;
/** The lock that restarts are made under. */
export const LOCK = 'apiserver-restart';

export interface SimFile {
  readonly content: string;
  readonly changedAt: number;
}

interface Process {
  pid: number;
  startedAt: number;
  signs: string | undefined;
  verifies: readonly string[];
}

export interface SimHost {
  readonly name: string;
  readonly files: Map<string, SimFile>;
  readonly processes: Map<ServiceName, Process>;
  /** Not to be reached over SSH until then. */
  cutUntil: number;
  /** Its apiserver is being restarted on purpose until then. */
  restartingUntil: number;
}

export interface SimLease {
  readonly key: string;
  readonly order: number;
  readonly value: string;
  readonly actor: Actor;
  renewedAt: number;
  /** By the owner's own clock it cannot be counted on any more; stays so. */
  isOver: boolean;
  /** Its owner keeps it alive no more. */
  isGivenUp: boolean;
  readonly lost: AbortController;
}

/** Something that must never be so was so. */
export class Violation extends Error {}

/**
 * A control plane in memory that outlives the runs on it: files, processes that read them only when they start, etcd with
 * leases, tokens that clients hold. Whenever time passes it checks what must hold at every moment.
 */
export class SimCluster {
  readonly scheduler: Scheduler;
  readonly hosts = new Map<string, SimHost>();
  readonly etcd = new Map<string, { value: string; revision: number }>();
  readonly leases = new Map<string, SimLease>();
  readonly byKid: ReadonlyMap<string, SimKey>;
  readonly byPem = new Map<string, SimKey>();
  /** Kids of keys that were generated, in order. */
  readonly generated: string[] = [];
  /** kid → when its last token runs out. */
  readonly tokens = new Map<string, number>();
  /** etcd has no quorum until then. */
  etcdDownUntil = 0;
  /** What was explored, for the report. */
  steps = 0;
  #revision = 1;
  #next = 0;
  #pid = 100;
  /** Pairs of key and apiserver that were refused at the beginning and never accepted since. */
  readonly #excused = new Set<string>();

  constructor(
    readonly random: Random,
    readonly keys: readonly SimKey[],
    names: readonly string[],
    isFaulty: boolean,
  ) {
    this.scheduler = new Scheduler(random, Date.parse('2026-01-01T00:00:00Z'), () => this.#tick());
    this.byKid = new Map(keys.map((key) => [key.kid, key]));
    for (const key of keys) this.byPem.set(key.privatePem, key);
    const first = names.map((name) => ({ name, key: this.takeKey() }));
    for (const { name, key } of first) {
      const trusted = isFaulty ? [key] : first.map((each) => each.key);
      const host: SimHost = {
        name,
        files: new Map(),
        processes: new Map(),
        cutUntil: 0,
        restartingUntil: 0,
      };
      this.hosts.set(name, host);
      this.write(host, PKI.key, key.privatePem);
      this.write(host, PKI.certificate, key.certificatePem);
      this.write(host, PKI.bundle, trusted.map(({ publicPem }) => publicPem).join(''));
      for (const service of ['kube-apiserver', 'kube-controller-manager'] as const) this.load(host, service);
    }
    this.scheduler.now += 60_000;
    for (const signer of first)
      for (const host of this.hosts.values())
        if (!this.accepts(host, signer.key.kid)) this.#excused.add(`${signer.key.kid} ${host.name}`);
  }

  get now(): number {
    return this.scheduler.now;
  }

  host(name: string): SimHost {
    const host = this.hosts.get(name);
    if (!host) throw new Error(`no host ${name}`);
    return host;
  }

  takeKey(): SimKey {
    const key = this.keys[this.#next];
    this.#next += 1;
    if (!key) throw new Violation(`more than ${this.keys.length} keys were generated`);
    return key;
  }

  /** Whether there are keys left for another rotation. */
  get hasKeys(): boolean {
    return this.#next + 2 * this.hosts.size < this.keys.length;
  }

  write(host: SimHost, path: string, content: string): void {
    host.files.set(path, { content, changedAt: this.now });
  }

  rename(host: SimHost, from: string, to: string): void {
    const file = host.files.get(from);
    if (!file) throw new CertrollError(`${host.name}: ${from} does not exist`, { code: 'host.write' });
    host.files.delete(from);
    this.write(host, to, file.content);
  }

  /** A process starts: it loads what its files hold now. */
  load(host: SimHost, service: ServiceName): void {
    const privatePem = host.files.get(PKI.key)?.content ?? '';
    const verifies =
      service === 'kube-apiserver'
        ? [PKI.certificate, PKI.bundle].flatMap((path) =>
            readVerificationKeys(host.files.get(path)?.content ?? '').keys.map(({ kid }) => kid),
          )
        : [];
    this.#pid += 1;
    host.processes.set(service, {
      pid: this.#pid,
      startedAt: this.now,
      signs: this.byPem.get(privatePem)?.kid,
      verifies: [...new Set(verifies)],
    });
  }

  process(host: SimHost, service: ServiceName): Process {
    const found = host.processes.get(service);
    if (!found) throw new Error(`no ${service} on ${host.name}`);
    return found;
  }

  accepts(host: SimHost, kid: string): boolean {
    return this.process(host, 'kube-apiserver').verifies.includes(kid);
  }

  /** Somebody restarts a service on purpose; who does must hold the lock at that very moment, by etcd's own word. */
  restart(host: SimHost, service: ServiceName, by: Actor): void {
    const holder = this.holder(LOCK);
    if (holder?.actor !== by)
      throw new Violation(
        `${by.name} restarts ${service} of ${host.name} without the lock, which ${holder?.actor.name ?? 'nobody'} holds`,
      );
    if (service === 'kube-apiserver') {
      const other = [...this.hosts.values()].find((each) => each !== host && each.restartingUntil > this.now);
      if (other)
        throw new Violation(
          `${by.name} restarts the apiserver of ${host.name} while that of ${other.name} restarts`,
        );
      host.restartingUntil = this.now + RESTART_MS;
    }
    this.load(host, service);
  }

  /** Somebody puts a key of his own into the bundles of some hosts and has it loaded there; its tokens live from now on. */
  trustOutside(names: readonly string[]): void {
    const key = this.takeKey();
    for (const host of this.hosts.values()) {
      if (!names.includes(host.name)) {
        this.#excused.add(`${key.kid} ${host.name}`);
        continue;
      }
      this.write(host, PKI.bundle, (host.files.get(PKI.bundle)?.content ?? '') + key.publicPem);
      this.load(host, 'kube-apiserver');
    }
    this.tokens.set(key.kid, this.now + TOKEN_LIFE_MS);
  }

  putValue(key: string, value: string): void {
    this.#revision += 1;
    this.etcd.set(key, { value, revision: this.#revision });
  }

  get etcdIsDown(): boolean {
    return this.etcdDownUntil > this.now;
  }

  grant(name: string, actor: Actor, value: string): SimLease {
    this.#revision += 1;
    const key = `${name}/${this.#revision.toString(16)}`;
    const lease: SimLease = {
      key,
      order: this.#revision,
      value,
      actor,
      renewedAt: this.now,
      isOver: false,
      isGivenUp: false,
      lost: new AbortController(),
    };
    this.leases.set(key, lease);
    return lease;
  }

  /** The oldest lease under a name holds the lock. */
  holder(name: string): SimLease | undefined {
    return [...this.leases.values()]
      .filter(({ key }) => key.startsWith(`${name}/`) && !key.slice(name.length + 1).includes('/'))
      .sort((a, b) => a.order - b.order)[0];
  }

  leftMs(lease: SimLease): number {
    if (this.now >= lease.renewedAt + TTL_S * 800) lease.isOver = true;
    return lease.isOver ? 0 : lease.renewedAt + TTL_S * 800 - this.now;
  }

  #tick(): void {
    this.steps += 1;
    if (this.steps > MOST_STEPS) throw new Violation(`it does not come to an end in ${MOST_STEPS} steps`);
    this.#keepLeases();
    if (this.random.chance(0.02)) {
      // A process crashes and its service manager starts it again: nobody asks a lock for that.
      const host = this.random.pick([...this.hosts.values()]);
      this.load(host, this.random.pick(['kube-apiserver', 'kube-controller-manager'] as const));
    }
    this.#mintAndPresent();
  }

  #keepLeases(): void {
    for (const lease of [...this.leases.values()]) {
      const isKept = !lease.isGivenUp && !lease.actor.isStopped(this.now);
      if (isKept && !this.etcdIsDown && this.leftMs(lease) > 0) lease.renewedAt = this.now;
      // Without a quorum no lease runs out; it gets its whole life anew when there is one again.
      if (this.etcdIsDown) continue;
      if (this.now > lease.renewedAt + TTL_S * 1000) this.leases.delete(lease.key);
    }
    for (const lease of this.leases.values()) this.#tell(lease);
  }

  /** What timers of the owner's process would do, once it is awake. */
  #tell(lease: SimLease): void {
    if (!lease.actor.isStopped(this.now) && this.leftMs(lease) === 0 && this.random.chance(0.7))
      lease.lost.abort(new CertrollError('the lock was lost', { code: 'lock.lost' }));
  }

  /** Every apiserver and controller-manager signs, and every token that lives is shown to every apiserver. */
  #mintAndPresent(): void {
    for (const host of this.hosts.values())
      for (const { signs } of host.processes.values())
        if (signs !== undefined) this.tokens.set(signs, this.now + TOKEN_LIFE_MS);
    for (const [kid, end] of this.tokens) {
      if (end < this.now) {
        this.tokens.delete(kid);
        continue;
      }
      for (const host of this.hosts.values()) {
        const pair = `${kid} ${host.name}`;
        if (this.accepts(host, kid)) this.#excused.delete(pair);
        else if (!this.#excused.has(pair))
          throw new Violation(`a live token signed with ${kid} is refused by ${host.name}`);
      }
    }
  }
}
