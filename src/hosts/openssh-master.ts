import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { CertrollError } from '../core/errors.js';
import { sshArguments, type ArgumentOptions } from './openssh-arguments.js';
import { calledOff, hostKeyRefused, notLetIn, unreachable } from './ssh-errors.js';
import type { SshTarget } from './ssh-config.js';

/**
 * Runs ssh until descriptor 3 ends, then removes the folder of its socket. certroll holds the other
 * end, so that its own death, kill -9 included, ends the connection too. Arguments: FOLDER, then ssh's.
 */
const WATCHED = `
dir=$1
shift
ssh "$@" </dev/null & ssh=$!
{ cat >/dev/null; kill "$ssh"; } <&3 2>/dev/null &
wait "$ssh"
code=$?
rm -rf -- "$dir"
exit "$code"`;

/** An open connection of the system ssh that other ssh processes share through a socket. */
export class OpensshMaster {
  readonly socket: string;
  readonly #dir: string;
  readonly #process: ChildProcess;
  #said = '';

  private constructor(dir: string, process: ChildProcess) {
    this.#dir = dir;
    this.socket = join(dir, 's');
    this.#process = process;
    process.stderr?.on('data', (chunk: Buffer) => (this.#said += chunk.toString()));
    process.once('exit', () => void this.close());
  }

  /** Connects and logs in. Throws as `Transport.connect` does. */
  static async open(
    target: SshTarget,
    options: ArgumentOptions,
    signal: AbortSignal,
  ): Promise<OpensshMaster> {
    const words = await sshArguments(target, options);
    // mkdtemp makes it 0700: whoever can open the socket can use the connection.
    const dir = await mkdtemp(join(tmpdir(), 'certroll-ssh-'));
    const argv = ['-M', '-N', '-S', join(dir, 's'), ...words, '--', target.name];
    // A group of its own: an interrupt at the terminal must not cut the connection under a run.
    const child = spawn('sh', ['-c', WATCHED, 'sh', dir, ...argv], {
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    });
    const master = new OpensshMaster(dir, child);
    try {
      await master.#ready(target, options.timeoutMs * (1 + target.jumps.length), signal);
    } catch (error) {
      await master.close();
      throw error;
    }
    return master;
  }

  /** Calls the listener when the connection has ended, at once if it has already. */
  onEnd(listener: () => void): void {
    if (this.#isOpen) this.#process.once('exit', listener);
    else listener();
  }

  get #isOpen(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  async close(): Promise<void> {
    (this.#process.stdio[3] as Writable | null)?.destroy();
    if (this.#isOpen) await once(this.#process, 'exit');
    await rm(this.#dir, { recursive: true, force: true });
  }

  /** ssh makes the socket when it has logged in. */
  async #ready(target: SshTarget, timeoutMs: number, signal: AbortSignal): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    while (!(await exists(this.socket))) {
      if (signal.aborted) throw calledOff(target.name, signal, false);
      if (!this.#isOpen) throw explain(target, this.#said);
      if (Date.now() > deadline) throw unreachable(target.name, 'it did not answer in time');
      await delay(20);
    }
  }
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** What ssh said before it gave up (status 255), as one of the transport's errors. */
const explain = (target: SshTarget, said: string): CertrollError => {
  const lines = said
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^@+$/.test(line));
  const why = lines.slice(-3).join('; ');
  if (
    /host key.* (verification failed|known|changed|revoked)|REMOTE HOST IDENTIFICATION|host certificate/i.test(
      said,
    )
  ) {
    return hostKeyRefused(target.name, why);
  }
  if (/Permission denied|Too many authentication failures|No more authentication methods/i.test(said)) {
    return notLetIn(target.name, target.user, why);
  }
  return unreachable(target.name, why === '' ? 'ssh gave no reason' : why);
};
