import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

/** A hierarchy of cgroup v1 that needs no settings of its own for a new folder. */
const CGROUPS = '/sys/fs/cgroup/pids';

/** Whether this user may make cgroups on this machine, which only root may, and only where they are of version 1. */
export const canMakePods = (): boolean => {
  const probe = join(CGROUPS, `kubepods-probe-${process.pid}`);
  try {
    mkdirSync(probe);
    rmdirSync(probe);
    return true;
  } catch {
    return false;
  }
};

const HEX = '0123456789abcdef';
const hex = (length: number): string =>
  Array.from({ length }, () => HEX[Math.floor(Math.random() * 16)] ?? '0').join('');

/** A pod's process: really one of that name and in cgroups of that shape, though kubelet has not made it. */
export interface StandInPod {
  readonly pid: number;
  readonly uid: string;
  readonly containerId: string;
  end(): Promise<void>;
}

/** Answers every request with one status; a port that is free is printed. */
const HEALTHZ = `const server = require('node:http').createServer((_, response) => response.writeHead(Number(process.argv[1])).end('ok'));
server.listen(0, '127.0.0.1', () => console.log(server.address().port));`;

const isOver = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

const kill = async (child: ChildProcess): Promise<void> => {
  if (isOver(child)) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
};

/**
 * Processes in cgroups such as a kubelet makes, and a process that is called kubelet, in a network of their own: other
 * tests' stand-ins run on this machine at the same time. All end with `close`.
 */
export class StandInNode {
  readonly #dir: string;
  readonly #root = join(CGROUPS, `kubepods-test-${process.pid}-${hex(8)}`);
  readonly #pods = new Set<StandInPod>();
  readonly #children: ChildProcess[] = [];
  readonly #holder: ChildProcess;

  private constructor(dir: string, holder: ChildProcess) {
    this.#dir = dir;
    this.#holder = holder;
    mkdirSync(this.#root);
    mkdirSync(join(this.#root, 'kubepods'));
  }

  /** `dir`: a folder for links. */
  static async start(dir: string): Promise<StandInNode> {
    const script = 'ip link set lo up && echo ready && read -r _';
    const holder = spawn('unshare', ['--net', '--', 'sh', '-c', script], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    await once(holder.stdout, 'data');
    return new StandInNode(dir, holder);
  }

  /** Words that take a command into the network of this node. */
  get prefix(): readonly string[] {
    return ['nsenter', `--net=/proc/${this.#holder.pid}/ns/net`, '--'];
  }

  /** Starts a process in a pod; `uid` is by default that of a static pod. */
  async pod(argv: readonly string[], uid = hex(32)): Promise<StandInPod> {
    const podDir = join(this.#root, 'kubepods', `pod${uid}`);
    const containerId = hex(64);
    const containerDir = join(podDir, containerId);
    mkdirSync(podDir, { recursive: true });
    mkdirSync(containerDir);
    // A shell that waits, called what the first word says.
    const script = 'exec -a "$0" bash -c "echo ready; read -r _ || :" "$@"';
    const child = this.#spawn(['bash', '-c', script, ...argv]);
    await once(child.stdout, 'data');
    const pid = child.pid ?? 0;
    writeFileSync(join(containerDir, 'cgroup.procs'), String(pid));
    const pod: StandInPod = {
      pid,
      uid,
      containerId,
      end: async () => {
        this.#pods.delete(pod);
        await kill(child);
        rmdirSync(containerDir);
      },
    };
    this.#pods.add(pod);
    return pod;
  }

  /** A process that is called kubelet and has those arguments. */
  async kubelet(argv: readonly string[]): Promise<ChildProcess> {
    const link = join(this.#dir, 'kubelet');
    try {
      symlinkSync('/bin/bash', link);
    } catch {
      // It is there from before.
    }
    const child = this.#spawn([link, '-c', 'echo ready; read -r _', 'kubelet', ...argv]);
    this.#children.push(child);
    await once(child.stdout, 'data');
    return child;
  }

  /** Serves /healthz on loopback of the node; the port. */
  async healthz(status = 200): Promise<number> {
    const child = this.#spawn([process.execPath, '-e', HEALTHZ, String(status)]);
    this.#children.push(child);
    const [port] = (await once(child.stdout, 'data')) as [Buffer];
    return Number(port.toString());
  }

  async close(): Promise<void> {
    for (const pod of [...this.#pods]) await pod.end();
    for (const child of [...this.#children, this.#holder]) await kill(child);
    removeCgroups(join(this.#root, 'kubepods'));
    rmdirSync(this.#root);
  }

  #spawn(argv: readonly string[]): ChildProcessByStdio<Writable, Readable, null> {
    const [program = '', ...words] = [...this.prefix, ...argv];
    return spawn(program, words, { stdio: ['pipe', 'pipe', 'ignore'] });
  }
}

const removeCgroups = (dir: string): void => {
  const entries = readFolders(dir);
  for (const each of entries) removeCgroups(join(dir, each));
  rmdirSync(dir);
};

const readFolders = (dir: string): readonly string[] =>
  readdirSync(dir, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
