/** Exit statuses of the command line, one meaning each (see docs/exit-statuses.md). */
export const EXIT = {
  /** Done, or nothing to do. */
  done: 0,
  failed: 1,
  /** Usage, cluster file or cookbook wrong. */
  usage: 2,
  /** Findings, or (dry run) changes pending. */
  findings: 3,
  /** Refused by the proof or by a gate, before or between changes. */
  refused: 4,
  /** The lock was not had in time. */
  locked: 5,
  /** A change was sent and nobody knows whether it took place. */
  unknown: 6,
  /** Waiting for a soak: run again later. */
  waiting: 7,
} as const;

export type ExitStatus = (typeof EXIT)[keyof typeof EXIT];

export interface CertrollErrorOptions {
  /** Stable, machine-readable: `<family>.<what>`, such as `ssh.host-key`. */
  readonly code: string;
  /** Exit status of a run that ends with this error. Default: failed (1). */
  readonly exit?: ExitStatus;
  /** The host it happened on, where there is one. */
  readonly host?: string;
  /** What the reader can do about it: one or two sentences. */
  readonly hint?: string;
  readonly cause?: unknown;
}

/**
 * The one error family. `message` says what was tried, on what, and what went wrong, without a
 * trailing full stop; it never holds a secret.
 */
export class CertrollError extends Error {
  readonly code: string;
  readonly exit: ExitStatus;
  readonly host: string | undefined;
  readonly hint: string | undefined;

  constructor(message: string, options: CertrollErrorOptions) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'CertrollError';
    this.code = options.code;
    this.exit = options.exit ?? EXIT.failed;
    this.host = options.host;
    this.hint = options.hint;
  }
}

/** The message of anything that was thrown. */
export const messageOf = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message : String(thrown);
