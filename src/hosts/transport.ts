import type { Secret } from '../core/secret.js';

/** A way to run commands on one host. Two implementations pass the same contract test. */
export interface Transport {
  /** Where it goes, after ssh_config: for messages and for the host's other ports. */
  readonly target: { readonly hostname: string; readonly user: string };
  /** Connects if it is not connected. `exec` does so by itself; this makes the time of a first `exec` its own. */
  connect(signal?: AbortSignal): Promise<void>;
  /**
   * Runs one command and gives back all of its output, whatever its exit status. A command killed
   * by signal N has the status 128 + N, as in a shell.
   *
   * Throws `ssh.unreachable`, `ssh.host-key` or `ssh.auth` when nothing was sent, and
   * `ssh.outcome-unknown`, `ssh.timeout` or `ssh.aborted` when the command may have run.
   */
  exec(words: readonly string[], options: ExecOptions): Promise<ExecResult>;
  /** Ends the connection. Commands that run are lost (`ssh.outcome-unknown`). */
  close(): Promise<void>;
}

export interface ExecOptions {
  readonly stdin?: string | Uint8Array | Secret;
  /** Milliseconds from the moment the command is sent. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}
