import { readFile } from 'node:fs/promises';
import { enable, place, type HostFile } from './files.js';
import type { Machine } from './machine.js';
import { run } from './shell.js';
import { hostsOf, type HostSpec, type Topology } from './topology.js';

/** Gives the host its address. `replace`, so that it may run again. */
const addressUnit = (lab: Topology, host: HostSpec): string => `[Unit]
Description=The host's address on the lab's network
DefaultDependencies=no
After=local-fs.target
Before=network.target network-online.target sysinit.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/ip link set lo up
ExecStart=/bin/ip address replace ${host.address}/${lab.network.prefix} dev host0
ExecStart=/bin/ip link set host0 up
[Install]
WantedBy=multi-user.target
`;

const hostsFile = (lab: Topology): string =>
  [
    '127.0.0.1 localhost',
    ...hostsOf(lab).map((host) => `${host.address} ${host.fqdn} ${host.name}`),
    `${lab.loadBalancer.address} ${lab.apiName}`,
    '',
  ].join('\n');

/** Files that every host has, whatever its role. `publicKey` is the bastion's. */
const commonFiles = (lab: Topology, host: HostSpec, publicKey: string): HostFile[] => [
  { path: '/etc/hostname', content: `${host.name}\n` },
  { path: '/etc/machine-id', content: `${host.machineId}\n`, mode: 0o444 },
  { path: '/etc/hosts', content: hostsFile(lab) },
  { path: '/etc/systemd/system/lab-address.service', content: addressUnit(lab, host) },
  { path: '/etc/ssh/authorized_keys.d/certroll', content: publicKey },
  { path: '/etc/ssh/authorized_keys.d/limited', content: publicKey },
  // Kept over a loss of power: when services were restarted is judged by it.
  {
    path: '/etc/systemd/journald.conf.d/lab.conf',
    content: '[Journal]\nStorage=persistent\nSystemMaxUse=64M\nRateLimitBurst=0\n',
  },
];

/** Gives a mounted host its name, address, SSH host keys, and the bastion's public key. */
export const placeCommonFiles = async (lab: Topology, machine: Machine): Promise<void> => {
  const publicKey = await readFile(`${lab.bastion.identity}.pub`, 'utf8');
  for (const file of commonFiles(lab, machine.spec, publicKey)) await place(machine.root, file);
  await enable(machine.root, 'lab-address.service');
  await run(['ssh-keygen', '-A', '-f', machine.root]);
};
