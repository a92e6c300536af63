import { CertrollError } from '../core/errors.js';
import type { ExecResult } from './transport.js';

/**
 * Words that run a command as root without a terminal. LC_ALL=C keeps the messages of sudo and of
 * the command in English, which is how failures are told apart here.
 */
export const underSudo = (words: readonly string[]): string[] => [
  'env',
  'LC_ALL=C',
  'sudo',
  '-n',
  '--',
  ...words,
];

/** The error when it was sudo, not the command, that said no; undefined otherwise. */
export const sudoFailure = (host: string, user: string, result: ExecResult): CertrollError | undefined => {
  const { exitCode, stderr } = result;
  if (exitCode === 127 && /env: .*sudo.*No such file/.test(stderr)) {
    return refused(
      host,
      user,
      'sudo is not installed',
      'Install sudo, log in as root, or set ssh.sudo: false.',
    );
  }
  if (exitCode !== 1) return undefined;
  if (/^sudo: .*(password is required|no password was provided)/m.test(stderr)) {
    return new CertrollError(`sudo on ${host} wants a password of '${user}'`, {
      code: 'sudo.password',
      host,
      hint: `certroll gives none. Let the user run commands without one: add '${user} ALL=(root) NOPASSWD: ALL' to /etc/sudoers.d/certroll (visudo -f). Check: ssh ${host} sudo -n true`,
    });
  }
  if (/^sudo: .*(must have a tty|terminal is required)/m.test(stderr)) {
    return refused(
      host,
      user,
      'it wants a terminal',
      `Add 'Defaults:${user} !requiretty' to its sudoers file.`,
    );
  }
  const denied =
    /^(Sorry, user .* (is not allowed|may not run) .*|.* is not in the sudoers file.*|sudo: .*(not allowed|unknown user|parse error|syntax error|no valid sudoers).*)$/m;
  const [reason] = denied.exec(stderr) ?? [];
  return reason === undefined
    ? undefined
    : refused(
        host,
        user,
        reason,
        `Allow it: add '${user} ALL=(root) NOPASSWD: ALL' to /etc/sudoers.d/certroll (visudo -f).`,
      );
};

const refused = (host: string, user: string, why: string, hint: string): CertrollError =>
  new CertrollError(`sudo on ${host} does not let '${user}' run commands as root: ${why}`, {
    code: 'sudo.refused',
    host,
    hint,
  });
