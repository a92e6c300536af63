import { CertrollError, EXIT, messageOf } from '../core/errors.js';

/** What an error of the connection carries besides its text. */
interface Detail {
  readonly hint?: string;
  readonly cause?: unknown;
}

/** The host could not be reached: nothing was sent. */
export const unreachable = (host: string, why: string, detail: Detail = {}): CertrollError =>
  new CertrollError(`cannot reach ${host} over SSH: ${why}`, {
    code: 'ssh.unreachable',
    host,
    hint: `Try it by hand: ssh ${host} true`,
    ...detail,
  });

/** The host's key is not one that may be trusted. */
export const hostKeyRefused = (host: string, why: string, detail: Detail = {}): CertrollError =>
  new CertrollError(`refused to talk to ${host}: ${why}`, {
    code: 'ssh.host-key',
    exit: EXIT.refused,
    host,
    hint: 'Compare the fingerprint with that of the host itself (ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub), then mend known_hosts.',
    ...detail,
  });

/** The host did not let the user in. */
export const notLetIn = (host: string, user: string, why: string, detail: Detail = {}): CertrollError =>
  new CertrollError(`${host} does not let '${user}' in: ${why}`, {
    code: 'ssh.auth',
    host,
    hint: 'Load the key into ssh-agent (ssh-add), or name its file in ssh.identityFiles.',
    ...detail,
  });

/** The connection ended after the command was sent and before its exit status came. */
export const outcomeUnknown = (host: string, cause?: unknown): CertrollError =>
  new CertrollError(
    `lost the connection to ${host} while a command ran${cause === undefined ? '' : `: ${messageOf(cause)}`}`,
    {
      code: 'ssh.outcome-unknown',
      exit: EXIT.unknown,
      host,
      hint: 'The command may have done its work, or part of it. Run again: certroll looks at the host before it acts.',
      cause,
    },
  );

/** The command did not end in time; it may still be running on the host. */
export const timedOut = (host: string, timeoutMs: number): CertrollError =>
  new CertrollError(`a command on ${host} did not end within ${timeoutMs / 1000} s`, {
    code: 'ssh.timeout',
    exit: EXIT.unknown,
    host,
    hint: 'It may still be running there. Look at the host, then run again.',
  });

/** Bytes of an answer: the largest that a host has cause to give, all files of an audit together, is a tenth of it. */
export const MOST_OUTPUT = 64 * 1024 * 1024;

/** The command printed without end. */
export const tooMuch = (host: string): CertrollError =>
  new CertrollError(`a command on ${host} printed more than ${MOST_OUTPUT / 1024 / 1024} MiB`, {
    code: 'ssh.output',
    exit: EXIT.unknown,
    host,
    hint: 'Look what prints there: a shell profile, a forced command. It may still be running.',
  });

/** The caller called it off (lock lost, interrupt). `wasSent` says whether the host may be at work on it. */
export const calledOff = (host: string, signal: AbortSignal, wasSent: boolean): CertrollError =>
  new CertrollError(`called off a command on ${host}: ${messageOf(signal.reason)}`, {
    code: 'ssh.aborted',
    exit: wasSent ? EXIT.unknown : EXIT.failed,
    host,
    cause: signal.reason,
    ...(wasSent ? { hint: 'It had been sent and may still be running there.' } : {}),
  });
