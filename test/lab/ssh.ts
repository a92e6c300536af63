import { BASTION, hostNamed } from './settings.js';
import { run } from './shell.js';

const quote = (argument: string): string => `'${argument.replaceAll("'", "'\\''")}'`;

/** Runs a command as root on a host, as an operator on the bastion would: with OpenSSH and sudo. */
export const sshSudo = (host: string, argv: readonly string[], input?: string): Promise<string> =>
  run(
    [
      'ssh',
      '-F',
      BASTION.sshConfig,
      '-o',
      'BatchMode=yes',
      hostNamed(host).fqdn,
      ['sudo', ...argv].map(quote).join(' '),
    ],
    input === undefined ? {} : { input },
  );
