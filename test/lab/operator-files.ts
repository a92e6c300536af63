import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { run } from './shell.js';
import { hostsOf, type Topology } from './topology.js';

/** Writes a file of a bastion folder. */
export const writeOperatorFile = async (path: string, content: string, mode = 0o644): Promise<void> => {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(path, content, { mode });
};

const sshConfig = (lab: Topology): string =>
  [
    ...hostsOf(lab).map(
      (host) => `Host ${host.fqdn} ${host.name}\n  HostName ${host.address}\n  HostKeyAlias ${host.fqdn}\n`,
    ),
    'Host *',
    '  User certroll',
    `  IdentityFile ${lab.bastion.identity}`,
    '  IdentitiesOnly yes',
    `  UserKnownHostsFile ${lab.bastion.knownHosts}`,
    '  GlobalKnownHostsFile /dev/null',
    '  StrictHostKeyChecking yes',
    '',
  ].join('\n');

/** Makes the bastion folder, with a new key for SSH and the configuration that uses it. */
export const createSshFiles = async (lab: Topology): Promise<void> => {
  const { bin, identity, sshConfig: path } = lab.bastion;
  await mkdir(bin, { recursive: true });
  await run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', 'lab-operator', '-f', identity]);
  await writeOperatorFile(path, sshConfig(lab));
};

/** Puts the clients of the cluster into the bastion's folder of programs. */
export const linkPrograms = async (
  { bastion }: Topology,
  programs: { readonly kubectl: string; readonly etcdctl: string },
): Promise<void> => {
  for (const name of ['kubectl', 'etcdctl'] as const) {
    await rm(join(bastion.bin, name), { force: true });
    await symlink(programs[name], join(bastion.bin, name));
  }
};

/** Notes the hosts' public keys, read from their disks: nothing is trusted on first use. */
export const writeKnownHosts = async (lab: Topology, rootOf: (name: string) => string): Promise<void> => {
  const lines: string[] = [];
  for (const host of hostsOf(lab)) {
    for (const type of ['ed25519', 'ecdsa', 'rsa']) {
      const text = await readFile(join(rootOf(host.name), `/etc/ssh/ssh_host_${type}_key.pub`), 'utf8');
      const [algorithm = '', key = ''] = text.split(' ');
      lines.push(`${host.fqdn},${host.address} ${algorithm} ${key}`);
    }
  }
  await writeOperatorFile(lab.bastion.knownHosts, `${lines.join('\n')}\n`);
};
