import { execa } from 'execa';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { startDaemon, waitForDaemon } from './daemons.js';
import type { Ports } from './ports.js';
import type { Program } from './programs.js';
import { settle } from './settle.js';
import { HOST_NAMES, isRoot, MARK, type Layout } from './settings.js';

/** Makes a key pair; gives the public half. */
const makeKey = async (path: string): Promise<string> => {
  await execa('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'certroll-playground', '-f', path]);
  return (await readFile(`${path}.pub`, 'utf8')).trim();
};

/** Without PAM sshd takes `!` in the shadow file for a locked account, which is how Ubuntu delivers root. */
const isLocked = async (): Promise<boolean> => {
  if (!isRoot()) return false;
  const shadow = await readFile('/etc/shadow', 'utf8').catch(() => '');
  return shadow.split('\n').some((line) => line.startsWith(`${userInfo().username}:!`));
};

const exists = async (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Newer sshds serve each connection with a second program, looked for where the package puts it. */
const sessionProgram = async (program: Program): Promise<readonly string[]> => {
  if (program.root === undefined) return [];
  const folder = join(program.root, 'usr/lib/openssh');
  const lines = [];
  if (await exists(join(folder, 'sshd-session')))
    lines.push(`SshdSessionPath ${join(folder, 'sshd-session')}`);
  if (await exists(join(folder, 'sshd-auth'))) lines.push(`SshdAuthPath ${join(folder, 'sshd-auth')}`);
  return lines;
};

const sshConfig = (at: Layout, ports: Ports): string =>
  [
    ...HOST_NAMES.flatMap((host) => [
      `Host ${host}`,
      '  HostName 127.0.0.1',
      `  Port ${ports.ssh[host] ?? 0}`,
      `  HostKeyAlias ${host}`,
    ]),
    'Host *.play.example.net',
    `  User ${userInfo().username}`,
    `  IdentityFile ${at.identity}`,
    '  IdentitiesOnly yes',
    `  UserKnownHostsFile ${at.knownHosts}`,
    '  GlobalKnownHostsFile /dev/null',
    '  StrictHostKeyChecking yes',
    '',
  ].join('\n');

/** Starts one real sshd per host, as the current user and for that user only, and describes them in an ssh_config. */
export const startSshds = async (program: Program, at: Layout, ports: Ports): Promise<void> => {
  // The folder that sshd wants as root; it is made at boot by its unit, where that runs.
  if (isRoot()) await mkdir('/run/sshd', { recursive: true, mode: 0o755 });
  await writeFile(at.authorizedKeys, `${await makeKey(at.identity)}\n`, { mode: 0o600 });
  await writeFile(at.sshConfig, sshConfig(at, ports));
  const shared = [
    `AuthorizedKeysFile ${at.authorizedKeys}`,
    'AuthenticationMethods publickey',
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    `AllowUsers ${userInfo().username}`,
    'PermitRootLogin prohibit-password',
    // The folder may lie below one that others may write to.
    'StrictModes no',
    `UsePAM ${(await isLocked()) ? 'yes' : 'no'}`,
    'PidFile none',
    'PrintMotd no',
    'MaxStartups 100',
    `SetEnv ${MARK}=${at.dir}`,
    ...(await sessionProgram(program)),
  ];
  const known = await settle(
    HOST_NAMES.map(async (host) => {
      const hostKey = at.host(host, 'ssh_host_key');
      const publicKey = await makeKey(hostKey);
      const own = [`ListenAddress 127.0.0.1:${ports.ssh[host] ?? 0}`, `HostKey ${hostKey}`];
      const config = at.host(host, 'sshd_config');
      await writeFile(config, `${[...own, ...shared].join('\n')}\n`);
      const base = at.host(host, 'sshd');
      await startDaemon(at.dir, base, [program.path, '-D', '-e', '-f', config], program.env);
      await waitForDaemon(`sshd of ${host}`, base, (log) => log.includes('Server listening on'));
      return `${host} ${publicKey}`;
    }),
  );
  await writeFile(at.knownHosts, `${known.join('\n')}\n`);
};
