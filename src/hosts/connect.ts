import { parseDuration } from '../core/duration.js';
import { fanOut } from './fan-out.js';
import type { Host } from './host.js';
import { RemoteHost } from './remote-host.js';
import { resolveTarget, type SshSettings } from './ssh-config.js';
import type { Transport } from './transport.js';

/**
 * One host, by name, as the cluster file's `ssh` section says. Reads the SSH configuration but
 * connects to nothing: the first command does. Throws `ssh.config`.
 */
export const createHost = async (name: string, settings: SshSettings): Promise<Host> =>
  new RemoteHost(name, await createTransport(name, settings), { sudo: settings.ssh.sudo });

/** `createHost` for many, in the order of `names`. */
export const createHosts = async (
  names: readonly string[],
  settings: SshSettings,
): Promise<ReadonlyMap<string, Host>> => {
  const hosts = await fanOut(names, (name) => createHost(name, settings));
  return new Map(hosts.map((host) => [host.name, host]));
};

/** The transport that the cluster file names; its code is loaded only now, to keep the start of every command quick. */
export const createTransport = async (name: string, settings: SshSettings): Promise<Transport> => {
  const target = await resolveTarget(name, settings);
  const options = { settings, timeoutMs: parseDuration(settings.ssh.connectTimeout) };
  if (settings.ssh.transport === 'openssh') {
    const { OpensshTransport } = await import('./openssh-transport.js');
    return new OpensshTransport(target, options);
  }
  const { Ssh2Transport } = await import('./ssh2-transport.js');
  return new Ssh2Transport(target, options);
};
