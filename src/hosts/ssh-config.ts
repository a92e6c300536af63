import { execFile, type ExecFileException } from 'node:child_process';
import { homedir, hostname, userInfo } from 'node:os';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import type { ClusterFile } from '../cluster/schema.js';
import { CertrollError, EXIT } from '../core/errors.js';

/** The `ssh` section of the cluster file, and the folder that its relative paths start from. */
export interface SshSettings {
  readonly ssh: ClusterFile['ssh'];
  readonly baseDir: string;
}

/** How to reach one host: ssh_config and the cluster file taken together. */
export interface SshTarget {
  /** The name that was asked for. */
  readonly name: string;
  readonly hostname: string;
  readonly port: number;
  readonly user: string;
  /** The name its key is filed under in known_hosts. `isAlias`: from HostKeyAlias, where ports are not told apart. */
  readonly keyName: { readonly name: string; readonly isAlias: boolean };
  readonly identityFiles: readonly string[];
  /** True when only those files may be used, even if the agent has more. */
  readonly identitiesOnly: boolean;
  /** Socket of the agent, if one is to be used. */
  readonly agentSocket?: string;
  readonly knownHostsFiles: readonly string[];
  /** Hops on the way, `user@host:port`, the first one first. */
  readonly jumps: readonly string[];
  readonly proxyCommand?: string;
}

/** What a hop's own `user@host:port` says; it wins over everything else. */
export interface TargetOverrides {
  readonly user?: string;
  readonly port?: number;
  /** A hop on the way: the cluster file's user, port and jump are those of its hosts, not of the hop. */
  readonly isHop?: boolean;
}

/**
 * Asks OpenSSH itself (`ssh -G`) what its configuration says of a host, so that Include, Match and
 * Host blocks mean what they mean to ssh; the cluster file's settings win. Connects to nothing.
 *
 * Throws `ssh.config` when ssh is not installed or refuses the configuration.
 */
export const resolveTarget = async (
  name: string,
  { ssh, baseDir }: SshSettings,
  overrides: TargetOverrides = {},
): Promise<SshTarget> => {
  const files = clientFiles({ ssh, baseDir });
  const user = overrides.user ?? (overrides.isHop ? undefined : ssh.user);
  const port = overrides.port ?? (overrides.isHop ? undefined : ssh.port);
  const options = await askSsh(name, [
    ...(files.config === undefined ? [] : ['-F', files.config]),
    ...(user === undefined ? [] : ['-l', user]),
    ...(port === undefined ? [] : ['-p', String(port)]),
    ...(ssh.proxyJump === undefined || overrides.isHop ? [] : ['-J', ssh.proxyJump]),
  ]);
  const one = (key: string): string | undefined => options.get(key)?.[0];
  const hostname = one('hostname') ?? name;
  const token = tokens({
    name,
    hostname,
    port: one('port') ?? '22',
    user: one('user') ?? userInfo().username,
  });
  const own = (file: string): string => expandHome(token(file), homedir());
  const listed = (key: string): string[] =>
    (options.get(key) ?? [])
      .flatMap((value) => value.split(/\s+/))
      .filter((file) => file !== '' && file !== 'none')
      .map(own);
  const agentSocket = ssh.agent ? agentOf(one('identityagent'), own) : undefined;
  const proxyCommand = one('proxycommand');
  return {
    name,
    hostname,
    port: Number(one('port') ?? 22),
    user: one('user') ?? userInfo().username,
    keyName: { name: one('hostkeyalias') ?? hostname, isAlias: options.has('hostkeyalias') },
    identityFiles: files.identityFiles ?? (options.get('identityfile') ?? []).map(own),
    identitiesOnly: one('identitiesonly') === 'yes',
    ...(agentSocket === undefined ? {} : { agentSocket }),
    knownHostsFiles: files.knownHosts ?? [...listed('userknownhostsfile'), ...listed('globalknownhostsfile')],
    jumps: splitJumps(one('proxyjump')),
    ...(proxyCommand === undefined || proxyCommand === 'none' ? {} : { proxyCommand }),
  };
};

/** The files that the cluster file names, as absolute paths. */
export const clientFiles = ({
  ssh,
  baseDir,
}: SshSettings): { config?: string; identityFiles?: string[]; knownHosts?: string[] } => {
  const path = (file: string): string => expandHome(file, baseDir);
  return {
    ...(ssh.config === undefined ? {} : { config: path(ssh.config) }),
    ...(ssh.identityFiles === undefined ? {} : { identityFiles: ssh.identityFiles.map(path) }),
    ...(ssh.knownHosts === undefined ? {} : { knownHosts: ssh.knownHosts.map(path) }),
  };
};

/** `user@host:port` of a jump host (also `ssh://…` and `[v6]:port`), as ssh reads it. */
export const parseJump = (jump: string): { name: string; user?: string; port?: number } => {
  const text = jump.replace(/^ssh:\/\//, '').replace(/\/$/, '');
  const at = text.lastIndexOf('@');
  const [user, place] = at < 0 ? [undefined, text] : [text.slice(0, at), text.slice(at + 1)];
  // A bare IPv6 address has many colons and no port.
  const [, bracketed, plain, port] = /^(?:\[(.+)\]|([^:]+|.*:.*:.*?))(?::(\d+))?$/.exec(place) ?? [];
  const name = bracketed ?? plain;
  if (name === undefined || !/^[\w.:%][\w.:%-]*$/.test(name)) {
    throw new CertrollError(`'${jump}' is not a jump host`, {
      code: 'ssh.config',
      exit: EXIT.usage,
      hint: 'Write ssh.proxyJump as user@host:port; user and port may be left out.',
    });
  }
  return {
    name,
    ...(user === undefined ? {} : { user }),
    ...(port === undefined ? {} : { port: Number(port) }),
  };
};

const splitJumps = (value: string | undefined): string[] =>
  value === undefined || value === 'none' ? [] : value.split(',').map((jump) => jump.trim());

const run = promisify(execFile);

/** The lines of `ssh -G`: keyword → values, in order. Plain Node, since of many hosts this is asked of each. */
const askSsh = async (name: string, flags: readonly string[]): Promise<Map<string, string[]>> => {
  const asking = run('ssh', ['-G', ...flags, '--', name]);
  // What a Match block runs must not wait for an input.
  asking.child.stdin?.end();
  const { stdout } = await asking.catch((thrown: unknown) => {
    throw configUnread(name, thrown as ExecFileException);
  });
  const options = new Map<string, string[]>();
  for (const line of stdout.split('\n')) {
    const space = line.indexOf(' ');
    if (space <= 0) continue;
    const [key, value] = [line.slice(0, space), line.slice(space + 1)];
    options.set(key, [...(options.get(key) ?? []), value]);
  }
  return options;
};

const configUnread = (name: string, error: ExecFileException): CertrollError => {
  const isMissing = error.code === 'ENOENT';
  const why = isMissing ? 'the ssh command is not installed' : (error.stderr ?? error.message).trim();
  return new CertrollError(`cannot read the SSH configuration for ${name}: ${why}`, {
    code: 'ssh.config',
    exit: EXIT.usage,
    host: name,
    hint: isMissing ? 'Install openssh-client.' : `See what ssh says: ssh -G ${name}`,
    cause: error,
  });
};

const expandHome = (file: string, baseDir: string): string =>
  file === '~' || file.startsWith('~/') ? resolve(homedir(), file.slice(2)) : resolve(baseDir, file);

/** `ssh -G` prints file names with their %-tokens unexpanded. */
const tokens = (of: {
  name: string;
  hostname: string;
  port: string;
  user: string;
}): ((text: string) => string) => {
  const values: Record<string, string> = {
    '%': '%',
    d: homedir(),
    h: of.hostname,
    i: String(userInfo().uid),
    l: hostname(),
    L: hostname().split('.')[0] ?? '',
    n: of.name,
    p: of.port,
    r: of.user,
    u: userInfo().username,
  };
  return (text) => text.replace(/%(.)/g, (whole, letter: string) => values[letter] ?? whole);
};

const agentOf = (setting: string | undefined, own: (file: string) => string): string | undefined => {
  if (setting === 'none') return undefined;
  const { SSH_AUTH_SOCK } = process.env;
  if (setting === undefined || setting === 'SSH_AUTH_SOCK')
    return SSH_AUTH_SOCK === '' ? undefined : SSH_AUTH_SOCK;
  return setting.startsWith('$') ? process.env[setting.slice(1)] : own(setting);
};
