import { execa } from 'execa';
import { run, say } from '../shell.js';

/** Debian packages by the program that shows whether they are there. */
const NEEDED: Readonly<Record<string, string>> = {
  debootstrap: 'debootstrap',
  'systemd-nspawn': 'systemd-container',
  ip: 'iproute2',
  openssl: 'openssl',
  'ssh-keygen': 'openssh-client',
  nsenter: 'util-linux',
  curl: 'curl',
};

/** True when the program is on the path. */
export const hasProgram = async (name: string): Promise<boolean> => {
  const found = await execa('sh', ['-c', 'command -v "$1"', 'sh', name], { reject: false, stdin: 'ignore' });
  return found.exitCode === 0;
};

/** Installs Debian packages on this machine, saying so. */
export const aptInstall = async (packages: readonly string[]): Promise<void> => {
  say(`installing with apt: ${packages.join(' ')}`);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  const install = ['apt-get', 'install', '-y', '-q', '--no-install-recommends', ...packages];
  try {
    await run(install, { env });
  } catch {
    // The usual cause is an old or empty list of packages.
    await run(['apt-get', 'update', '-q'], { env });
    await run(install, { env });
  }
};

/** Installs what the lab itself runs on this machine, if something is missing. */
export const ensurePackages = async (): Promise<void> => {
  const missing: string[] = [];
  for (const [program, name] of Object.entries(NEEDED)) {
    if (!(await hasProgram(program))) missing.push(name);
  }
  if (missing.length > 0) await aptInstall(missing);
};
