import { CertrollError } from '../core/errors.js';

/** The error of a file or service that could not be read; `why` is what the host said. */
export const unreadable = (host: string, name: string, why: string): CertrollError =>
  new CertrollError(`cannot read ${name} on ${host}: ${why}`, {
    code: 'host.read',
    host,
    hint: why.includes('Permission denied')
      ? 'Let the login user read it: with sudo (ssh.sudo), or as root.'
      : 'Try it by hand on that host, as the login user, or as root where ssh.sudo is set.',
  });

/** The error of a path that leads to something else than a file; no right to read would help. */
export const noFile = (host: string, path: string, what: string): CertrollError =>
  new CertrollError(`cannot read ${path} on ${host}: it is a ${what}, not a file`, {
    code: 'host.read',
    host,
    hint: 'See which flag of the running process, or which setting of the cluster file, names this path: put a file there, or name the right one.',
  });
