import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { clusterFile, kubeconfig } from './cluster-file.js';
import { prepareControlPlane } from './control-plane.js';
import { endProcesses, findProcesses, readDaemon, startDaemon } from './daemons.js';
import { startEtcd } from './etcd.js';
import { PlaygroundHost } from './host.js';
import { Pki } from './pki.js';
import { choosePorts, type Ports } from './ports.js';
import { findPrograms, type Programs } from './programs.js';
import { seed } from './seed.js';
import { settle } from './settle.js';
import {
  DEFAULT_MAX_LIFE,
  ETCD_NAME,
  HOST_NAMES,
  layout,
  realApiserver,
  runTypeScript,
  type Layout,
} from './settings.js';
import { startSshds } from './sshd.js';

export interface UpOptions {
  /** Where it lives. Letters, digits and `/._+-` only. */
  readonly dir: string;
  /** Seconds after which everything ends by itself. Default: two hours. */
  readonly maxLife?: number;
  /** Gives up, and ends what was started. */
  readonly signal?: AbortSignal;
  /** Told what takes its time. */
  readonly say?: (line: string) => void;
}

const basesOf = (at: Layout): readonly string[] => [
  join(at.dir, 'watchdog'),
  at.etcd('etcd'),
  ...HOST_NAMES.flatMap((host) => [at.host(host, 'sshd'), at.host(host, 'apiserver')]),
];

const STAND_INS = 'The apiservers are stand-ins, not kube-apiserver.';

const markText = (
  real: string | undefined,
): string => `Made by certroll's "npm run playground"; its "down" removes this folder.
${real ?? STAND_INS}
`;

const isThere = async (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Three control planes on loopback: real sshd, real etcd, and apiservers that are stand-ins unless KUBE_APISERVER is set. */
export class Playground {
  readonly dir: string;
  readonly hosts: readonly [PlaygroundHost, PlaygroundHost, PlaygroundHost];
  readonly #at: Layout;

  private constructor(dir: string) {
    this.dir = resolve(dir);
    this.#at = layout(this.dir);
    const host = (at: 0 | 1 | 2): PlaygroundHost => new PlaygroundHost(HOST_NAMES[at], this.#at);
    this.hosts = [host(0), host(1), host(2)];
  }

  /** The one in that folder, running or not. */
  static attach(dir: string): Playground {
    return new Playground(dir);
  }

  /** A fresh cluster with the fault: what was in the folder, and ran from it, is ended and removed first. */
  static async up(options: UpOptions): Promise<Playground> {
    const { dir, say = () => undefined } = options;
    const playground = new Playground(dir);
    if (!/^[\w/.+-]+$/.test(playground.dir))
      throw new Error(
        `Choose a folder with nothing but letters, digits and /._+- in its path, not ${playground.dir}`,
      );
    const programs = await findPrograms(say);
    for (let tries = 1; ; tries += 1) {
      await playground.down();
      try {
        await playground.#start(programs, options);
        return playground;
      } catch (error) {
        await endProcesses(playground.dir, basesOf(playground.#at));
        if (options.signal?.aborted === true) await playground.down();
        // Otherwise the folder stays, for its logs.
        const taken = /address already in use|EADDRINUSE/i.test(await playground.#logs());
        if (!taken || tries === 3 || options.signal?.aborted === true) throw error;
      }
    }
  }

  /** The kube-apiserver that its hosts run; undefined when they run the stand-in. */
  async realApiserver(): Promise<string | undefined> {
    const [, apiserver] = (await readFile(this.#at.mark, 'utf8')).split('\n');
    return apiserver === STAND_INS ? undefined : apiserver;
  }

  /** For `certroll -c`. */
  get clusterFile(): string {
    return this.#at.clusterFile;
  }

  /** For CERTROLL_STATE_DIR. */
  get stateDir(): string {
    return this.#at.state;
  }

  /** Where etcd listens. */
  async etcdEndpoint(): Promise<string> {
    const [, url] = /endpoints: \['([^']+)'\]/.exec(await readFile(this.clusterFile, 'utf8')) ?? [];
    if (url === undefined) throw new Error(`${this.clusterFile} names no endpoint of etcd`);
    return url;
  }

  /** A file made for the whole cluster, such as `ca.crt`, `admin.key`, `sa-ca.crt`. */
  pki(name: string): string {
    return this.#at.pki(name);
  }

  /** A copy of the cluster file, beside it, with some of its text replaced. Throws when there is no such text. */
  async clusterFileWith(name: string, ...changes: readonly (readonly [RegExp, string])[]): Promise<string> {
    let text = await readFile(this.clusterFile, 'utf8');
    for (const [pattern, replacement] of changes) {
      if (!pattern.test(text)) throw new Error(`The cluster file has nothing like ${pattern.source}`);
      text = text.replace(pattern, replacement);
    }
    const path = join(this.dir, `cluster-${name}.yaml`);
    await writeFile(path, text);
    return path;
  }

  /** Which of its servers run. */
  async servers(): Promise<ReadonlyMap<string, boolean>> {
    const states = basesOf(this.#at).map(
      async (base) => [base.slice(this.dir.length + 1), (await readDaemon(base)) !== undefined] as const,
    );
    return new Map(await Promise.all(states));
  }

  /** Leaves it to be used by hand. */
  async keep(): Promise<void> {
    await writeFile(this.#at.kept, '');
  }

  /** Whether it was left to be used by hand; one that was not is the rest of a demonstration that was killed. */
  async isKept(): Promise<boolean> {
    return isThere(this.#at.kept);
  }

  /** Pids of everything that runs for it. */
  async pids(): Promise<readonly number[]> {
    return (await findProcesses(this.dir, basesOf(this.#at))).map(({ pid }) => pid);
  }

  /** Ends its processes, at once, and removes its folder. Refuses a folder that is not a playground's. */
  async down(): Promise<void> {
    const content = await readdir(this.dir).catch(() => []);
    if (content.length > 0 && !(await isThere(this.#at.mark)))
      throw new Error(`${this.dir} is not a playground's folder, and not empty: choose another one (--dir)`);
    await endProcesses(this.dir, basesOf(this.#at));
    await rm(this.dir, { recursive: true, force: true });
  }

  async #start(programs: Programs, options: UpOptions): Promise<void> {
    const { maxLife = DEFAULT_MAX_LIFE, signal } = options;
    const at = this.#at;
    await mkdir(at.dir, { recursive: true, mode: 0o700 });
    await writeFile(at.mark, markText(realApiserver()));
    await this.#startWatchdog(maxLife);
    await settle(HOST_NAMES.map((host) => mkdir(at.host(host, '.'), { recursive: true })));
    const ports = await choosePorts();
    const pki = await Pki.create(at.pki('.'));
    await settle([
      pki.ca(at.pki('ca'), 'playground CA'),
      pki.ca(at.pki('etcd-ca'), 'playground etcd CA'),
      pki.ca(at.pki('sa-ca'), 'playground service-account CA'),
    ]);
    signal?.throwIfAborted();
    const plan = { pki, at, ports, endsAt: Date.now() + maxLife * 1000 };
    await settle([
      this.#startEtcd(programs, pki, ports),
      startSshds(programs.sshd, at, ports),
      pki.leaf(at.pki('admin'), {
        ca: at.pki('ca'),
        subject: '/O=system:masters/CN=admin',
        usage: 'clientAuth',
      }),
      ...HOST_NAMES.map((host) => prepareControlPlane(host, plan)),
    ]);
    await writeFile(at.clusterFile, clusterFile(at, ports));
    await writeFile(at.kubeconfig, kubeconfig(ports), { mode: 0o600 });
    signal?.throwIfAborted();
    await settle(this.hosts.map(async (host) => host.apiserver('start')));
    signal?.throwIfAborted();
    if (realApiserver() !== undefined) await seed(this.hosts[0]);
  }

  async #startEtcd(programs: Programs, pki: Pki, ports: Ports): Promise<void> {
    const at = this.#at;
    const ca = at.pki('etcd-ca');
    const sans = [`DNS:${ETCD_NAME}`, 'IP:127.0.0.1'];
    await settle([
      pki.leaf(at.pki('etcd'), { ca, subject: '/CN=etcd', sans, usage: 'serverAuth' }),
      pki.leaf(at.pki('etcd-client'), { ca, subject: '/CN=playground-operator', usage: 'clientAuth' }),
    ]);
    await startEtcd(programs.etcd, at, ports);
  }

  /** Ends everything after a while, whatever became of the one who started it. */
  async #startWatchdog(maxLife: number): Promise<void> {
    const down = [...runTypeScript('cli.ts'), 'down', '--dir', this.dir];
    const argv = [
      'sh',
      '-c',
      'sleep "$1"; shift; exec "$@"',
      'certroll-playground-watchdog',
      String(maxLife),
    ];
    await startDaemon(this.dir, join(this.dir, 'watchdog'), [...argv, ...down]);
  }

  async #logs(): Promise<string> {
    const read = async (base: string): Promise<string> => readFile(`${base}.log`, 'utf8').catch(() => '');
    return (await Promise.all(basesOf(this.#at).map(read))).join('\n');
  }
}
