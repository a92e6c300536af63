import { once } from 'node:events';
import type { Client } from 'ssh2';
import { commandLine } from './command-line.js';
import { SharedConnection } from './shared-connection.js';
import { openConnection, type ConnectOptions } from './ssh2-connection.js';
import { execOn } from './ssh2-exec.js';
import type { SshTarget } from './ssh-config.js';
import type { ExecOptions, ExecResult, Transport } from './transport.js';

/** Runs commands over one connection of the ssh2 library, kept open between them. */
export class Ssh2Transport implements Transport {
  readonly target: SshTarget;
  readonly #connection: SharedConnection<Client>;

  constructor(target: SshTarget, options: Omit<ConnectOptions, 'signal'>) {
    this.target = target;
    this.#connection = new SharedConnection<Client>(target.name, {
      open: (signal) => openConnection(target, { ...options, signal }),
      onEnd: (client, listener) => client.on('close', listener),
      close: async (client) => {
        client.end();
        // A host that does not answer the goodbye is left.
        await once(client, 'close', { signal: AbortSignal.timeout(2000) }).catch(() => client.destroy());
      },
    });
  }

  async connect(signal?: AbortSignal): Promise<void> {
    await this.#connection.get(signal);
  }

  exec(words: readonly string[], options: ExecOptions): Promise<ExecResult> {
    const line = commandLine(words);
    return this.#connection.use((client) => execOn(client, this.target.name, line, options), options.signal);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}
