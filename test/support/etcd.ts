import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { clusterFileSchema } from '../../src/cluster/schema.js';
import { openStore, type EtcdSettings } from '../../src/etcd/connect.js';
import type { Mutex, MutexOptions, Store } from '../../src/etcd/store.js';
import { CtlLock, ETCDCTL, runCtl } from './etcdctl.js';
import { TestPki } from './pki.js';
import { freePort } from './ports.js';

const ETCD = '/usr/bin/etcd';

/** Whether every thread of a process has stopped, or the process is gone. */
const isStopped = (pid: number): boolean => {
  try {
    return readdirSync(`/proc/${pid}/task`).every((thread) => {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
      return /^[TZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
    });
  } catch {
    return !existsSync(`/proc/${pid}`);
  }
};

/** What the mutexes of the tests write of themselves. */
export const HOLDER = {
  owner: 'me@bastion',
  pid: 4711,
  run: 'r1',
  reason: 'restart on cp1',
  since: '2026-01-01T00:00:00Z',
};
/** Seconds: the shortest lease that a busy test machine keeps alive for sure. */
export const TTL = 5;

export const mutexOf = (store: Store, name: string, options: Partial<MutexOptions> = {}): Mutex =>
  store.mutex(name, { ttl: TTL, waitMs: 30_000, holder: HOLDER, ...options });

interface Member {
  readonly name: string;
  readonly endpoint: string;
  readonly args: readonly string[];
  process: ChildProcess | undefined;
}

/** Members of a real etcd on loopback, with TLS and client certificates, in a folder of their own. */
export class TestEtcd {
  readonly pki: TestPki;
  readonly endpoints: readonly string[];
  readonly #members: readonly Member[];
  readonly #stores: Store[] = [];

  private constructor(pki: TestPki, members: readonly Member[]) {
    this.pki = pki;
    this.#members = members;
    this.endpoints = members.map(({ endpoint }) => endpoint);
  }

  /**
   * Starts that many members and waits until they serve. The client certificates are `root`, `locker` (users of those
   * names, once there are users) and `stranger`. `sans`: what the server certificate says, where it is not localhost.
   */
  static async start(count = 3, sans = ['DNS:localhost', 'IP:127.0.0.1']): Promise<TestEtcd> {
    await needs(ETCD, 'etcd-server');
    await needs(ETCDCTL, 'etcd-client');
    const pki = await TestPki.create();
    const issuer = await pki.certificate('ca', { ca: true });
    await Promise.all([
      pki.certificate('server', { issuer, sans }),
      ...['root', 'locker', 'stranger'].map((name) => pki.certificate(name, { issuer })),
      pki.certificate('otherca', { ca: true }),
    ]);
    const ports: number[] = [];
    while (ports.length < 2 * count) {
      const port = await freePort();
      if (!ports.includes(port)) ports.push(port);
    }
    const peer = (at: number): string => `https://127.0.0.1:${ports[at]}`;
    const cluster = Array.from({ length: count }, (_, at) => `m${at}=${peer(at)}`).join(',');
    const members = Array.from({ length: count }, (_, at): Member => {
      const endpoint = `https://127.0.0.1:${ports[count + at]}`;
      const options = {
        name: `m${at}`,
        'data-dir': join(pki.dir, `m${at}`),
        'listen-client-urls': endpoint,
        'advertise-client-urls': endpoint,
        'listen-peer-urls': peer(at),
        'initial-advertise-peer-urls': peer(at),
        'initial-cluster': cluster,
        'trusted-ca-file': pki.path('ca.crt'),
        'cert-file': pki.path('server.crt'),
        'key-file': pki.path('server.key'),
        'client-cert-auth': 'true',
        'peer-trusted-ca-file': pki.path('ca.crt'),
        'peer-cert-file': pki.path('server.crt'),
        'peer-key-file': pki.path('server.key'),
        'unsafe-no-fsync': undefined,
        'log-outputs': 'stderr',
        logger: 'zap',
      };
      const args = Object.entries(options).flatMap(([name, value]) =>
        value === undefined ? [] : [`--${name}=${value}`],
      );
      return { name: `m${at}`, endpoint, args, process: undefined };
    });
    const etcd = new TestEtcd(pki, members);
    await Promise.all(members.map((member) => serve(member)));
    return etcd;
  }

  /** A store over these endpoints (default: all), with the root client certificate, and what a test changes of that. */
  async open(settings: Partial<EtcdSettings> = {}): Promise<Store> {
    const store = await openStore(this.settings(settings), this.pki.dir);
    this.#stores.push(store);
    return store;
  }

  settings(settings: Partial<EtcdSettings> = {}): EtcdSettings {
    const defaults = clusterFileSchema.shape.etcd.parse({
      endpoints: this.endpoints,
      ca: 'ca.crt',
      cert: 'root.crt',
      key: 'root.key',
    });
    const all: Record<string, unknown> = { ...defaults, ...settings };
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as EtcdSettings;
  }

  /** What `etcdctl` is called with to reach this etcd. */
  ctlArgs(endpoints = this.endpoints): readonly string[] {
    return [
      `--endpoints=${endpoints.join(',')}`,
      // Whatever names its certificate has.
      '--insecure-skip-tls-verify',
      `--cacert=${this.pki.path('ca.crt')}`,
      `--cert=${this.pki.path('root.crt')}`,
      `--key=${this.pki.path('root.key')}`,
    ];
  }

  /** Runs the real etcdctl; gives what it prints. */
  async ctl(...args: readonly string[]): Promise<string> {
    return runCtl([...this.ctlArgs(), ...args]);
  }

  /** `etcdctl lock NAME` without a command: prints its key when it has the lock, and holds it until it is ended. */
  lock(name: string, options: readonly string[] = []): CtlLock {
    return new CtlLock([...this.ctlArgs(), 'lock', ...options, name]);
  }

  /** Keys under a prefix, as etcdctl sees them. */
  async keys(prefix: string): Promise<readonly string[]> {
    const printed = await this.ctl('get', '--prefix', '--keys-only', prefix);
    return printed.split('\n').filter((line) => line !== '');
  }

  /** Which member leads, by its place among the endpoints. */
  async leader(): Promise<number> {
    const printed = await this.ctl('endpoint', 'status', '--write-out=json');
    const states = JSON.parse(printed) as readonly {
      readonly Endpoint: string;
      readonly Status: { readonly leader: number; readonly header: { readonly member_id: number } };
    }[];
    const led = states.find(({ Status }) => Status.leader === Status.header.member_id);
    return this.endpoints.indexOf(led?.Endpoint ?? '');
  }

  /**
   * Members hang, as a machine that swaps does: connections stay open, nothing answers. They do when this returns: a
   * signal takes its time to stop all threads of a process, and until then one may still answer.
   */
  hang(...members: readonly number[]): void {
    for (const at of members) {
      const child = this.#members[at]?.process;
      child?.kill('SIGSTOP');
      while (child?.pid !== undefined && !isStopped(child.pid));
    }
  }

  wake(...members: readonly number[]): void {
    for (const at of members) this.#members[at]?.process?.kill('SIGCONT');
  }

  async kill(...members: readonly number[]): Promise<void> {
    await Promise.all(members.map(async (at) => end(this.#members[at])));
  }

  async restart(...members: readonly number[]): Promise<void> {
    await Promise.all(members.map(async (at) => serve(this.#members[at])));
  }

  /** All members are up and have a leader that a majority follows. */
  async healthy(): Promise<void> {
    for (;;) {
      const answer = await this.ctl('endpoint', 'health').then(
        () => true,
        () => false,
      );
      if (answer) return;
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#stores.map(async (store) => store.close()));
    await Promise.all(this.#members.map(end));
    await this.pki.remove();
  }
}

const serve = async (member: Member | undefined): Promise<void> => {
  if (!member) return;
  const child = spawn(ETCD, member.args, { stdio: ['ignore', 'ignore', 'pipe'] });
  member.process = child;
  const said: string[] = [];
  for await (const line of createInterface({ input: child.stderr })) {
    said.push(line);
    if (line.includes('serving client traffic securely')) {
      child.stderr.resume();
      return;
    }
  }
  throw new Error(`etcd did not start: ${said.slice(-5).join('\n')}`);
};

const end = async (member: Member | undefined): Promise<void> => {
  const child = member?.process;
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
};

const needs = async (path: string, debianPackage: string): Promise<void> => {
  await access(path).catch(() => {
    throw new Error(`${path} is missing: apt-get install ${debianPackage}`);
  });
};
