import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { clusterFileSchema, type ClusterFile } from '../../src/cluster/schema.js';
import type { SshSettings } from '../../src/hosts/ssh-config.js';
import { freePort } from './ports.js';

const run = promisify(execFile);
const SSHD = '/usr/sbin/sshd';

/** A real sshd on loopback, run by the current user for the current user, with keys of its own. */
export class TestSshd {
  readonly dir: string;
  readonly port: number;
  readonly #process: ChildProcess;

  private constructor(dir: string, port: number, process: ChildProcess) {
    this.dir = dir;
    this.port = port;
    this.#process = process;
  }

  /** Starts one and waits until it listens. `config`: lines of sshd_config that come first and so win. */
  static async start(options: { readonly config?: readonly string[] } = {}): Promise<TestSshd> {
    const dir = await mkdtemp(join(tmpdir(), 'certroll-sshd-'));
    // The folder that sshd wants is made at boot by its unit, and this machine may not have run it.
    if (userInfo().uid === 0) await mkdir('/run/sshd', { recursive: true, mode: 0o755 });
    await Promise.all(
      ['host_ed25519', 'host_ecdsa', 'user', 'stranger'].map((name) => makeKey(join(dir, name))),
    );
    await writeFile(join(dir, 'authorized_keys'), await readFile(join(dir, 'user.pub')));
    const port = await freePort();
    const lines = [
      ...(options.config ?? []),
      `ListenAddress 127.0.0.1:${port}`,
      `HostKey ${join(dir, 'host_ed25519')}`,
      `HostKey ${join(dir, 'host_ecdsa')}`,
      `AuthorizedKeysFile ${join(dir, 'authorized_keys')}`,
      'StrictModes no',
      'PidFile none',
      'UsePAM no',
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      'PermitRootLogin yes',
      'MaxStartups 100',
    ];
    await writeFile(join(dir, 'sshd_config'), lines.map((line) => `${line}\n`).join(''));
    const child = spawn(SSHD, ['-D', '-e', '-f', join(dir, 'sshd_config')], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const sshd = new TestSshd(dir, port, child);
    await sshd.#listening();
    await writeFile(join(dir, 'known_hosts'), await sshd.knownHostsLine());
    return sshd;
  }

  /** The line of known_hosts for this sshd, one of its keys. */
  async knownHostsLine(key: 'host_ed25519' | 'host_ecdsa' | 'stranger' = 'host_ed25519'): Promise<string> {
    return `[127.0.0.1]:${this.port} ${await readFile(join(this.dir, `${key}.pub`), 'utf8')}`;
  }

  /** Another file in the sshd's folder; gives its path. */
  async file(name: string, content: string): Promise<string> {
    const path = join(this.dir, name);
    await writeFile(path, content);
    return path;
  }

  /** The cluster file's ssh section for reaching it as `127.0.0.1`, and what a test changes of that. */
  settings(ssh: Partial<ClusterFile['ssh']> = {}): SshSettings {
    const defaults = clusterFileSchema.shape.ssh.parse({
      config: 'ssh_config',
      port: this.port,
      identityFiles: ['user'],
      knownHosts: ['known_hosts'],
      agent: false,
      sudo: false,
      connectTimeout: '10s',
    });
    return { ssh: { ...defaults, ...ssh }, baseDir: this.dir };
  }

  /** Lines for the ssh_config that `settings` names. */
  async addSshConfig(...lines: readonly string[]): Promise<void> {
    await appendFile(join(this.dir, 'ssh_config'), lines.map((line) => `${line}\n`).join(''));
  }

  /** Kills what serves the open connections, as a crash of the host would; new ones are still served. */
  async dropConnections(): Promise<void> {
    for (const pid of descendants(this.#process.pid ?? 0)) {
      if ((await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).startsWith('sshd'))
        process.kill(pid, 'SIGKILL');
    }
  }

  async stop(): Promise<void> {
    await this.dropConnections();
    if (this.#process.exitCode === null) {
      this.#process.kill('SIGKILL');
      await once(this.#process, 'exit');
    }
    await rm(this.dir, { recursive: true, force: true });
  }

  async #listening(): Promise<void> {
    await this.addSshConfig('# See man ssh_config.');
    const { stderr } = this.#process;
    if (stderr === null) throw new Error('sshd was started without its stderr');
    const said: string[] = [];
    for await (const line of createInterface({ input: stderr })) {
      said.push(line);
      if (line.startsWith('Server listening')) {
        stderr.resume();
        return;
      }
    }
    throw new Error(`sshd did not start (Debian package openssh-server): ${said.join('\n')}`);
  }
}

const makeKey = async (path: string): Promise<void> => {
  const type = path.endsWith('ecdsa') ? 'ecdsa' : 'ed25519';
  await sshKeygen('-q', '-t', type, '-N', '', '-C', 'test', '-f', path);
};

/** Runs the real ssh-keygen; gives what it prints. */
export const sshKeygen = async (...args: readonly string[]): Promise<string> =>
  (await run('ssh-keygen', args)).stdout;

/** Child processes, their children and so on: looked up in one go, since those of a busy machine may live for a moment only. */
export const descendants = (root: number): readonly number[] => {
  const children = new Map<number, number[]>();
  for (const pid of readdirSync('/proc').map(Number).filter(Number.isInteger)) {
    const parent = parentOf(pid);
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const below = (pid: number): readonly number[] =>
    (children.get(pid) ?? []).flatMap((child) => [child, ...below(child)]);
  return below(root);
};

/** Undefined when it has ended. */
const parentOf = (pid: number): number | undefined => {
  try {
    const parent = /\) \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1];
    return parent === undefined ? undefined : Number(parent);
  } catch {
    return undefined;
  }
};
