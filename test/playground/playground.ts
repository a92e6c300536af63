import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { clusterFile, kubeconfig } from './cluster-file.js';
import { prepareControlPlane, runCtl } from './control-plane.js';
import { endProcesses, findProcesses, readDaemon, startDaemon } from './daemons.js';
import { startEtcd } from './etcd.js';
import { Pki } from './pki.js';
import { choosePorts, type Ports } from './ports.js';
import { findPrograms, type Programs } from './programs.js';
import { DEFAULT_MAX_LIFE, ETCD_NAME, HOST_NAMES, layout, runTypeScript, type Layout } from './settings.js';
import { startSshds } from './sshd.js';

export interface UpOptions {
  /** Where it lives. Letters, digits and `/._+-` only. */
  readonly dir: string;
  /** Seconds after which everything ends by itself. Default: two hours. */
  readonly maxLife?: number;
  /** Told what takes its time. */
  readonly say?: (line: string) => void;
}

const basesOf = (at: Layout): readonly string[] => [
  join(at.dir, 'watchdog'),
  at.etcd('etcd'),
  ...HOST_NAMES.flatMap((host) => [at.host(host, 'sshd'), at.host(host, 'apiserver')]),
];

const isPlayground = async (at: Layout): Promise<boolean> =>
  stat(at.mark).then(
    () => true,
    () => false,
  );

/** One host of a playground. */
export class PlaygroundHost {
  /** Full name, as in the cluster file. */
  readonly name: string;
  readonly #at: Layout;

  constructor(name: string, at: Layout) {
    this.name = name;
    this.#at = at;
  }

  /** A file of the host, such as `sa.key`, `sa.crt`, `sa-verification-keys.pem`, `apiserver.log`, `ctl`. */
  path(name: string): string {
    return this.#at.host(this.name, name);
  }

  /** Its apiserver's address. */
  async url(): Promise<string> {
    const text = await readFile(this.#at.clusterFile, 'utf8');
    const port = new RegExp(`^    ${this.name}: (\\d+)$`, 'm').exec(text)?.[1];
    if (port === undefined) throw new Error(`${this.#at.clusterFile} has no port for ${this.name}`);
    return `https://127.0.0.1:${port}`;
  }

  /** Pid of its apiserver; undefined when none runs. */
  async apiserverPid(): Promise<number | undefined> {
    return (await readDaemon(this.path('apiserver')))?.pid;
  }

  /** As the service manager of a real host would; start and restart wait until it is ready. */
  async apiserver(verb: 'start' | 'stop' | 'restart'): Promise<void> {
    await runCtl(this.name, this.#at, verb);
  }
}

/** Three control planes on loopback: real sshd, real etcd, and apiservers that are stand-ins unless KUBE_APISERVER is set. */
export class Playground {
  readonly dir: string;
  readonly hosts: readonly PlaygroundHost[];
  readonly #at: Layout;

  private constructor(dir: string) {
    this.dir = resolve(dir);
    this.#at = layout(this.dir);
    this.hosts = HOST_NAMES.map((name) => new PlaygroundHost(name, this.#at));
  }

  /** The one in that folder, running or not. */
  static attach(dir: string): Playground {
    return new Playground(dir);
  }

  /** A fresh cluster with the fault: what was in the folder, and ran from it, is ended and removed first. */
  static async up({
    dir,
    maxLife = DEFAULT_MAX_LIFE,
    say = () => undefined,
  }: UpOptions): Promise<Playground> {
    const playground = new Playground(dir);
    if (!/^[\w/.+-]+$/.test(playground.dir))
      throw new Error(
        `Choose a folder with nothing but letters, digits and /._+- in its path, not ${playground.dir}`,
      );
    const programs = await findPrograms(say);
    for (let tries = 1; ; tries += 1) {
      await playground.down();
      try {
        await playground.#start(programs, maxLife);
        return playground;
      } catch (error) {
        // The folder stays, for its logs.
        await endProcesses(playground.dir, basesOf(playground.#at));
        const taken = /address already in use|EADDRINUSE/i.test(await playground.#logs());
        if (!taken || tries === 3) throw error;
      }
    }
  }

  /** For `certroll -c`. */
  get clusterFile(): string {
    return this.#at.clusterFile;
  }

  /** For CERTROLL_STATE_DIR. */
  get stateDir(): string {
    return this.#at.state;
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

  /** Pids of everything that runs for it. */
  async pids(): Promise<readonly number[]> {
    return (await findProcesses(this.dir, basesOf(this.#at))).map(({ pid }) => pid);
  }

  /** Ends its processes, at once, and removes its folder. Refuses a folder that is not a playground's. */
  async down(): Promise<void> {
    const content = await readdir(this.dir).catch(() => []);
    if (content.length > 0 && !(await isPlayground(this.#at)))
      throw new Error(`${this.dir} is not a playground's folder, and not empty: choose another one (--dir)`);
    await endProcesses(this.dir, basesOf(this.#at));
    await rm(this.dir, { recursive: true, force: true });
  }

  async #start(programs: Programs, maxLife: number): Promise<void> {
    const at = this.#at;
    await mkdir(at.dir, { recursive: true, mode: 0o700 });
    await writeFile(at.mark, 'Made by certroll\'s "npm run playground"; its "down" removes this folder.\n');
    await this.#startWatchdog(maxLife);
    await Promise.all(HOST_NAMES.map((host) => mkdir(at.host(host, '.'), { recursive: true })));
    const [ports, pki] = await Promise.all([choosePorts(), Pki.create(at.pki('.'))]);
    await Promise.all([
      pki.ca(at.pki('ca'), 'playground CA'),
      pki.ca(at.pki('etcd-ca'), 'playground etcd CA'),
      pki.ca(at.pki('sa-ca'), 'playground service-account CA'),
    ]);
    const plan = { pki, at, ports, endsAt: Date.now() + maxLife * 1000 };
    await Promise.all([
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
    await Promise.all(this.hosts.map((host) => host.apiserver('start')));
  }
  async #startEtcd(programs: Programs, pki: Pki, ports: Ports): Promise<void> {
    const at = this.#at;
    const ca = at.pki('etcd-ca');
    const sans = [`DNS:${ETCD_NAME}`];
    await Promise.all([
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
