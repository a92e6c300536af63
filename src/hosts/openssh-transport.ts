import { commandLine } from './command-line.js';
import { execThrough } from './openssh-exec.js';
import type { ArgumentOptions } from './openssh-arguments.js';
import { OpensshMaster } from './openssh-master.js';
import { SharedConnection } from './shared-connection.js';
import type { SshTarget } from './ssh-config.js';
import type { ExecOptions, ExecResult, Transport } from './transport.js';

/** Runs commands with the system's ssh, over one connection that is kept open between them. */
export class OpensshTransport implements Transport {
  readonly target: SshTarget;
  readonly #connection: SharedConnection<OpensshMaster>;

  constructor(target: SshTarget, options: ArgumentOptions) {
    this.target = target;
    this.#connection = new SharedConnection(target.name, {
      open: (signal) => OpensshMaster.open(target, options, signal),
      onEnd: (master, listener) => master.onEnd(listener),
      close: (master) => master.close(),
    });
  }

  async connect(signal?: AbortSignal): Promise<void> {
    await this.#connection.get(signal);
  }

  exec(words: readonly string[], options: ExecOptions): Promise<ExecResult> {
    const line = commandLine(words);
    return this.#connection.use(
      (master) => execThrough(master, this.target.name, line, options),
      options.signal,
    );
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}
