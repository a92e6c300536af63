import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { readFile } from 'node:fs/promises';

const SSHD = '/usr/sbin/sshd';

/**
 * A real sshd on many addresses, one process a connection, as inetd starts it: by itself sshd listens on no more than 16
 * addresses, or on all of the machine.
 */
export class InetdSshd {
  readonly #listeners: Server[] = [];
  readonly #children = new Set<ChildProcess>();
  readonly #log: string;

  private constructor(
    /** Folder with an `sshd_config`. */
    private readonly dir: string,
  ) {
    this.#log = join(dir, 'sshd.log');
  }

  /** Listens on that port of each address; throws where one is taken. */
  static async start(dir: string, addresses: readonly string[], port: number): Promise<InetdSshd> {
    const sshd = new InetdSshd(dir);
    for (const address of addresses) {
      const listener = createServer({ pauseOnConnect: true }, (socket) => sshd.#serve(socket));
      sshd.#listeners.push(listener.listen(port, address));
      await once(listener, 'listening');
    }
    return sshd;
  }

  /** What all its processes have logged, in their order. */
  async log(): Promise<readonly string[]> {
    return (await readFile(this.#log, 'utf8').catch(() => '')).split('\n');
  }

  async stop(): Promise<void> {
    for (const listener of this.#listeners) listener.close();
    const ends = [...this.#children].map(async (child) => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    });
    await Promise.all(ends);
  }

  #serve(socket: Socket): void {
    const args = ['-i', '-E', this.#log, '-f', join(this.dir, 'sshd_config')];
    const child = spawn(SSHD, args, { stdio: [socket, socket, 'ignore'] });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    // It is the child's alone now.
    socket.destroy();
  }
}
