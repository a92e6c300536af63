import { createHash, createSign, createVerify } from 'node:crypto';
import { changedMeanwhile, tooLate, type Fence } from '../../../src/hosts/fence.js';
import type { Doors } from '../../../src/changes/change.js';
import { CertrollError, EXIT } from '../../../src/core/errors.js';
import type { Timers } from '../../../src/core/poll.js';
import { Secret } from '../../../src/core/secret.js';
import type { Store } from '../../../src/etcd/store.js';
import type {
  FactRequest,
  FileFact,
  Host,
  HostFacts,
  RunResult,
  ServiceFact,
} from '../../../src/hosts/host.js';
import type { Issuer } from '../../../src/issuers/issuer.js';
import type { ApiServer } from '../../../src/kube/api-server.js';
import { LOOPBACK_NAME } from '../../../src/kube/flags.js';
import type { ServiceName } from '../../../src/trust/world.js';
import { PKI, TOKEN_LIFE_MS, TTL_S, type SimCluster, type SimFile, type SimHost } from './cluster.js';
import type { Actor } from './scheduler.js';
import { simStore } from './store.js';

/** How likely each fault is at each call of a door. All 0: a run in peace. */
export interface Faults {
  /** The run is killed with -9, before or after what the call does. */
  readonly kill: number;
  /** The run is stopped for a while, now and then for longer than its lease. */
  readonly pause: number;
  /** The connection is lost: the call took effect, or not; nobody knows. */
  readonly lost: number;
  /** The host is cut off for a while. */
  readonly cut: number;
  /** etcd has no quorum for a while. */
  readonly etcd: number;
}

export const PEACE: Faults = { kill: 0, pause: 0, lost: 0, cut: 0, etcd: 0 };

const ISSUER = 'https://kubernetes.default.svc';
const SERVICES: readonly ServiceName[] = ['kube-apiserver', 'kube-controller-manager'];

const argvOf = (service: ServiceName): readonly string[] =>
  service === 'kube-apiserver'
    ? [
        'kube-apiserver',
        `--service-account-issuer=${ISSUER}`,
        `--service-account-signing-key-file=${PKI.key}`,
        `--service-account-key-file=${PKI.certificate}`,
        `--service-account-key-file=${PKI.bundle}`,
        '--service-account-extend-token-expiration=false',
        `--service-account-max-token-expiration=${TOKEN_LIFE_MS / 1000}s`,
      ]
    : ['kube-controller-manager', `--service-account-private-key-file=${PKI.key}`];

/** What stands for the digest of the certificate that the apiserver of a host shows. */
const certificateOf = ({ name }: SimHost): string => createHash('sha256').update(name).digest('hex');

/** The doors of one run: what it does to the cluster, and the faults that befall it. */
export class SimDoors {
  constructor(
    readonly cluster: SimCluster,
    readonly actor: Actor,
    readonly faults: Faults,
  ) {}

  /** One call through a door. */
  async call<T>(
    effect: () => T,
    options: {
      readonly host?: SimHost;
      readonly readOnly?: boolean;
      readonly fence?: Fence | undefined;
    } = {},
  ): Promise<T> {
    const { random } = this.cluster;
    const { host, fence } = options;
    const until = fence ? this.cluster.now + fence.leftMs() : Infinity;
    await this.#turn();
    if (host && random.chance(this.faults.cut)) host.cutUntil = this.cluster.now + random.below(60_000);
    if (host && host.cutUntil > this.cluster.now) {
      throw new CertrollError(`${host.name} cannot be reached`, { code: 'ssh.unreachable', host: host.name });
    }
    // What the fence does, by the host's own files and clock.
    const changed = [...(fence?.sums ?? [])].find(([path, sum]) => host?.files.get(path)?.content !== sum);
    if (host && changed) throw changedMeanwhile(host.name, [changed[0]]);
    if (host && Math.floor(this.cluster.now / 1000) >= Math.floor(until / 1000)) throw tooLate(host.name);
    const isLost = host !== undefined && random.chance(this.faults.lost);
    if (isLost && random.chance(0.5)) throw this.#lost(host, options.readOnly);
    const result = effect();
    if (isLost) throw this.#lost(host, options.readOnly);
    await this.#turn();
    return result;
  }

  #lost(host: SimHost, readOnly = false): CertrollError {
    return readOnly
      ? new CertrollError(`${host.name}: the connection was lost`, {
          code: 'ssh.unreachable',
          host: host.name,
        })
      : new CertrollError(`${host.name}: the connection was lost`, {
          code: 'ssh.outcome-unknown',
          exit: EXIT.unknown,
          host: host.name,
        });
  }

  async #turn(): Promise<void> {
    const { cluster, actor, faults } = this;
    if (cluster.random.chance(faults.kill)) actor.isDead = true;
    if (cluster.random.chance(faults.pause))
      actor.pausedUntil = cluster.now + cluster.random.below(TTL_S * 1000 * 3);
    await cluster.scheduler.step(actor);
  }

  doors(): Doors {
    const { cluster } = this;
    return {
      host: (name) => this.#host(cluster.host(name)),
      api: (name) => this.#api(cluster.host(name)),
      apiHosts: [...cluster.hosts.keys()],
      store: this.store(),
      issuer: this.#issuer(),
      service: (_host, service) => ({ kind: 'command', restart: ['restart', service], pidFile: '/run/pid' }),
    };
  }

  timers(): Timers {
    const pause: Timers['pause'] = async (ms, signal) => {
      const end = this.cluster.now + ms;
      do {
        signal.throwIfAborted();
        await this.#turn();
      } while (this.cluster.now < end);
      signal.throwIfAborted();
    };
    return {
      pause,
      poll: async (look, options) => {
        const end = this.cluster.now + options.timeoutMs;
        for (;;) {
          options.signal.throwIfAborted();
          const found = await look();
          if (found !== undefined) return found;
          if (this.cluster.now >= end) return undefined;
          await pause(options.intervalMs ?? 500, options.signal);
        }
      },
    };
  }

  #fileFact(host: SimHost, path: string, isPrivate: boolean): FileFact {
    const file = host.files.get(path);
    if (!file) return { exists: false, path };
    const key = this.cluster.byPem.get(file.content);
    return {
      exists: true,
      path,
      // Only ever compared.
      sha256: file.content,
      mode: 0o640,
      owner: 'root',
      group: 'kube',
      changedAtMs: file.changedAt,
      mtimeMs: file.changedAt,
      ...(isPrivate ? key && { publicKeyPem: key.publicPem } : { content: file.content }),
    };
  }

  #serviceFact(host: SimHost, service: ServiceName): ServiceFact {
    const process = this.cluster.process(host, service);
    return {
      running: true,
      pid: process.pid,
      startTicks: process.pid,
      startedAtMs: process.startedAt,
      argv: argvOf(service),
      user: 'kube',
    };
  }

  #facts(host: SimHost, request: FactRequest): HostFacts {
    const files = [
      ...(request.publicFiles ?? []).map((path) => this.#fileFact(host, path, false)),
      ...(request.privateKeys ?? []).map((path) => this.#fileFact(host, path, true)),
    ];
    const services = SERVICES.filter((service) => request.services?.[service] !== undefined);
    return {
      clockOffsetMs: 0,
      hostname: host.name,
      files: new Map(files.map((fact) => [fact.path, fact])),
      services: new Map(services.map((service) => [service, this.#serviceFact(host, service)])),
      freeBytes: new Map((request.freeSpaceOf ?? []).map((path) => [path, 1e12])),
      notShared: [],
    };
  }

  async #run(host: SimHost, argv: readonly string[], fence: Fence | undefined): Promise<RunResult> {
    const { cluster } = this;
    const isAskedWhoServes = argv.includes(LOOPBACK_NAME);
    const stdout = Buffer.from(isAskedWhoServes ? certificateOf(host) : '');
    const done: RunResult = { exitCode: 0, stdout, stderr: '' };
    if (argv[0] !== 'restart') return this.call(() => done, { host, readOnly: true });
    await this.call(() => cluster.restart(host, argv[1] as ServiceName, this.actor), { host, fence });
    while (host.restartingUntil > cluster.now) await this.#turn();
    return done;
  }

  #host(host: SimHost, fence?: Fence): Host {
    const { cluster } = this;
    const change = async (effect: () => void): Promise<void> => this.call(effect, { host, fence });
    const keep = (path: string): void => {
      const live = host.files.get(path);
      if (live) cluster.write(host, `${path}.certroll-previous`, live.content);
    };
    const keyAt = (path: string) => {
      const key = cluster.byPem.get(host.files.get(path)?.content ?? '');
      if (!key) throw new CertrollError(`${host.name}: no key in ${path}`, { code: 'host.command' });
      return key;
    };
    return {
      name: host.name,
      address: () => Promise.resolve('127.0.0.1'),
      fenced: (left) => this.#host(host, left),
      run: async (argv) => this.#run(host, argv, fence),
      readFacts: async (request) => this.call(() => this.#facts(host, request), { host, readOnly: true }),
      writeFile: async (path, content, options) =>
        change(() => {
          const text = typeof content === 'string' ? content : content.reveal((bytes) => bytes.toString());
          if (host.files.get(path)?.content === text) return;
          if (options?.keepPrevious === true) keep(path);
          cluster.write(host, path, text);
        }),
      installFiles: async (files) =>
        change(() => {
          for (const { from, to } of files) {
            keep(to);
            cluster.rename(host, from, to);
          }
        }),
      restoreFiles: async (files) =>
        change(() => {
          for (const { path, aside } of files) {
            const live = host.files.get(path) as SimFile;
            cluster.rename(host, `${path}.certroll-previous`, path);
            if (aside !== undefined) cluster.write(host, aside, live.content);
          }
        }),
      removeFile: async (path) => change(() => void host.files.delete(path)),
      generateKey: async (path) =>
        this.call(
          () => {
            const there = cluster.byPem.get(host.files.get(path)?.content ?? '');
            if (there) return { publicKeyPem: there.publicPem };
            const key = cluster.takeKey();
            cluster.generated.push(key.kid);
            cluster.write(host, path, key.privatePem);
            return { publicKeyPem: key.publicPem };
          },
          { host, fence },
        ),
      certificateRequest: async (path) => this.call(() => keyAt(path).kid, { host, readOnly: true }),
      sign: async (path, data, digest) =>
        this.call(() => createSign(digest).update(data).sign(keyAt(path).privateKey), {
          host,
          readOnly: true,
        }),
      readSecret: async (path) =>
        this.call(() => new Secret(host.files.get(path)?.content ?? ''), { host, readOnly: true }),
      close: () => Promise.resolve(),
    };
  }

  #api(host: SimHost): ApiServer {
    const { cluster } = this;
    const ask = async <T>(answer: () => T): Promise<T> =>
      this.call(() => {
        if (host.restartingUntil > cluster.now)
          throw new CertrollError(`${host.name}: refused`, { code: 'kube.unreachable', host: host.name });
        return answer();
      });
    const apiserver = () => cluster.process(host, 'kube-apiserver');
    const pemOf = (kid: string): string => cluster.byKid.get(kid)?.publicPem ?? '';
    const unused = (): never => {
      throw new Error('not asked for in a simulation');
    };
    return {
      host: host.name,
      url: `https://${host.name}`,
      jwks: async () => ask(() => new Map(apiserver().verifies.map((kid) => [kid, pemOf(kid)]))),
      readyz: async () =>
        this.call(() => ({ ready: host.restartingUntil <= cluster.now, detail: 'starting' })),
      version: async () => ask(() => 'v1.34.0'),
      mintToken: async () =>
        ask(() => {
          const kid = apiserver().signs ?? '';
          return { token: `minted.${kid}`, kid, issuer: ISSUER, audiences: [ISSUER], algorithm: 'ES256' };
        }),
      reviewToken: async (token) =>
        ask(() => {
          const kid = token.startsWith('minted.') ? token.slice('minted.'.length) : this.#verified(token);
          return { authenticated: kid !== undefined && cluster.accepts(host, kid) };
        }),
      serviceAccountUid: async () => ask(() => 'uid'),
      processCertificate: async () => ask(() => certificateOf(host)),
      staleTokens: async () => ask(() => 0),
      tokenSecrets: async () => ask(() => []),
      secretsInUse: async () => ask(() => []),
      secretUid: unused,
      deleteSecret: unused,
    };
  }

  /** The kid of a token whose signature is that of the key it names. */
  #verified(token: string): string | undefined {
    const [head = '', body = '', signature = ''] = token.split('.');
    const { kid } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { kid: string };
    const key = { key: this.cluster.byKid.get(kid)?.publicPem ?? '', dsaEncoding: 'ieee-p1363' } as const;
    const isValid = createVerify('sha256')
      .update(`${head}.${body}`)
      .verify(key, Buffer.from(signature, 'base64url'));
    return isValid ? kid : undefined;
  }

  #issuer(): Issuer {
    const { cluster } = this;
    const notBefore = new Date('2025-01-01T00:00:00Z');
    const notAfter = new Date('2045-01-01T00:00:00Z');
    return {
      description: 'simulated PKI',
      check: async () => this.call(() => ({ caPem: '', caNotAfter: notAfter })),
      issue: async ({ csrPem }) =>
        this.call(() => ({
          pem: cluster.byKid.get(csrPem)?.certificatePem ?? '',
          notBefore,
          notAfter,
          serial: '01',
          capped: false,
        })),
    };
  }

  store(): Store {
    return simStore({
      ...{ cluster: this.cluster, actor: this.actor, downChance: this.faults.etcd },
      ...{ call: (effect) => this.call(effect), turn: () => this.#turn() },
    });
  }
}
