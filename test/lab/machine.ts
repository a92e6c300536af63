import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, open, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { enterCgroupScript, removeCgroup, type ControlGroups } from './cgroup.js';
import { cableIn, removeCable, setCable } from './network.js';
import { findInit, findProcesses, signal, waitForEnd } from './processes.js';
import { isMounted, mountOverlay, unmount } from './overlay.js';
import type { HostSpec } from './topology.js';
import { until } from './wait.js';

export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export type MachineState = 'off' | 'cut' | 'on';

/** Where the hosts of one lab live, and what makes them up. */
export interface Housing {
  /** The lab's folder; each host gets one below it. */
  readonly dir: string;
  readonly bridge: string;
  readonly groups: ControlGroups;
  /** Trees under a host's own, the uppermost first. */
  readonly lowers: (host: HostSpec) => readonly string[];
  /** Folders of a host that lie on this machine's disk as they are: an overlay cannot hold other overlays. */
  readonly volumes: readonly string[];
  /** Further arguments of nspawn. */
  readonly privileges: readonly string[];
}

/** One host: an overlay on the base tree, and a systemd-nspawn that runs a real systemd on it. */
export class Machine {
  readonly spec: HostSpec;
  readonly folder: string;
  /** The host's root as seen from this machine; writing here is writing on the host. */
  readonly root: string;
  /** What differs from the trees below. */
  readonly upper: string;
  readonly #housing: Housing;

  constructor(spec: HostSpec, housing: Housing) {
    this.spec = spec;
    this.#housing = housing;
    this.folder = join(housing.dir, 'hosts', spec.name);
    this.root = join(this.folder, 'root');
    this.upper = join(this.folder, 'upper');
  }

  /** Where a folder of the host that is no part of its overlay lies on this machine. */
  volume(path: string): string {
    return join(this.folder, 'volumes', path);
  }

  async mount(): Promise<void> {
    const work = join(this.folder, 'work');
    const volumes = this.#housing.volumes.map((path) => this.volume(path));
    for (const each of [this.upper, work, this.root, ...volumes]) await mkdir(each, { recursive: true });
    await mountOverlay(this.root, { lowers: this.#housing.lowers(this.spec), upper: this.upper, work });
  }

  isMounted(): Promise<boolean> {
    return isMounted(this.root);
  }

  unmount(): Promise<void> {
    return unmount(this.root);
  }

  /** Ends the machine if it runs, unmounts it, and deletes all it ever wrote. */
  async remove(): Promise<void> {
    await this.kill();
    await this.unmount();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Starts the machine. `binds` are files of this machine shown read-only on the host. */
  async start(binds: Readonly<Record<string, string>>): Promise<void> {
    if ((await this.pid()) !== undefined) return;
    // An nspawn that was killed may have left its machine running: two must not share one disk.
    await this.kill();
    const log = await open(join(this.folder, 'console.log'), 'a');
    const nspawn = [
      'systemd-nspawn',
      '--quiet',
      `--directory=${this.root}`,
      `--machine=${this.spec.machine}`,
      `--hostname=${this.spec.name}`,
      `--network-bridge=${this.#housing.bridge}`,
      '--register=no',
      // Without a systemd on this machine there is nobody to ask for a scope.
      ...(existsSync('/run/systemd/system') ? [] : ['--keep-unit']),
      '--console=pipe',
      '--link-journal=no',
      '--resolv-conf=off',
      '--timezone=off',
      ...this.#housing.privileges,
      ...this.#housing.volumes.map((path) => `--bind=${this.volume(path)}:${path}`),
      ...Object.entries(binds).map(([inside, outside]) => `--bind-ro=${outside}:${inside}`),
      '--boot',
    ];
    const child = spawn(
      'sh',
      ['-c', enterCgroupScript(this.#housing.groups, this.spec.name), 'sh', ...nspawn],
      {
        detached: true,
        stdio: ['ignore', log.fd, log.fd],
        env: { PATH: process.env['PATH'] ?? '/usr/sbin:/usr/bin:/sbin:/bin' },
      },
    );
    child.unref();
    await log.close();
    const pid = await until(`${this.spec.name} has an init`, 20, async () => {
      const supervisor = await this.pid();
      return supervisor !== undefined && (await findInit(this.upper)) !== undefined && supervisor;
    });
    await writeFile(join(this.folder, 'nspawn.pid'), `${pid}\n`);
  }

  /** Pid of the nspawn, found by its arguments: a file with a pid may be older than the machine's last boot. */
  async pid(): Promise<number | undefined> {
    const wanted = `--directory=${this.root}`;
    const [pid] = await findProcesses((argv) => argv[0] === 'systemd-nspawn' && argv.includes(wanted));
    return pid;
  }

  /** SIGKILL for the whole machine at once: to those who talk to it, a power loss. */
  async kill(): Promise<void> {
    // The kernel ends everything else in there together with PID 1; nspawn would then end by itself.
    const pids = [await findInit(this.upper), await this.pid()].filter((pid) => pid !== undefined);
    for (const pid of pids) signal(pid, 'SIGKILL');
    for (const pid of pids) await waitForEnd(pid, 20);
    await this.#tidy();
  }

  /** An orderly shutdown: every service is stopped first. */
  async poweroff(): Promise<void> {
    const pid = await this.pid();
    if (pid === undefined) return;
    signal(pid, 'SIGTERM');
    await waitForEnd(pid, 120);
    await this.#tidy();
  }

  /** Removes what a machine that has ended may leave on this one. */
  async #tidy(): Promise<void> {
    await removeCable(this.spec.machine);
    await removeCgroup(this.#housing.groups, this.spec.name);
    await rmdir(join('/run/systemd/nspawn/propagate', this.spec.machine)).catch(() => undefined);
  }

  async cut(): Promise<void> {
    await setCable(this.spec.machine, 'down');
  }

  async heal(): Promise<void> {
    await setCable(this.spec.machine, 'up');
  }

  async state(): Promise<MachineState> {
    if ((await this.pid()) === undefined) return 'off';
    return (await cableIn(this.spec.machine)) ? 'on' : 'cut';
  }

  /** The command line that runs `argv` as root on the host, past SSH: works on a host that is cut off. */
  async enter(argv: readonly string[]): Promise<string[]> {
    const init = await findInit(this.upper);
    if (init === undefined) throw new Error(`${this.spec.name} is off`);
    const namespaces = ['--mount', '--uts', '--ipc', '--net', '--pid', '--cgroup', '--root', '--wd'];
    const environment = [
      'env',
      '-i',
      'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      'HOME=/root',
    ];
    return ['nsenter', `--target=${init}`, ...namespaces, '--', ...environment, ...argv];
  }

  async exec(argv: readonly string[], options: { readonly input?: string } = {}): Promise<ExecResult> {
    const [file = '', ...args] = await this.enter(argv);
    const stdin = options.input === undefined ? ({ stdin: 'ignore' } as const) : { input: options.input };
    const result = await execa(file, args, { ...stdin, reject: false, stripFinalNewline: false });
    return { exitCode: result.exitCode ?? -1, stdout: result.stdout, stderr: result.stderr };
  }

  /** Like exec, for what must not fail. */
  async must(argv: readonly string[], options: { readonly input?: string } = {}): Promise<string> {
    const result = await this.exec(argv, options);
    if (result.exitCode === 0) return result.stdout;
    throw new Error(
      `${this.spec.name}: ${argv.join(' ')} ended with ${result.exitCode}: ${result.stderr.trim()}`,
    );
  }
}
