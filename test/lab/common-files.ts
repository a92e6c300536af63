import type { HostFile } from './files.js';
import { ALL_HOSTS, API_NAME, LOAD_BALANCER, NETWORK, type HostSpec } from './settings.js';

/** Gives the host its address. `replace`, so that it may run again. */
const ADDRESS_UNIT = (host: HostSpec): string => `[Unit]
Description=The host's address on the lab's network
DefaultDependencies=no
After=local-fs.target
Before=network.target network-online.target sysinit.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/ip link set lo up
ExecStart=/bin/ip address replace ${host.address}/${NETWORK.prefix} dev host0
ExecStart=/bin/ip link set host0 up
[Install]
WantedBy=multi-user.target
`;

const hostsFile = (): string =>
  [
    '127.0.0.1 localhost',
    ...ALL_HOSTS.map((host) => `${host.address} ${host.fqdn} ${host.name}`),
    `${LOAD_BALANCER.address} ${API_NAME}`,
    '',
  ].join('\n');

/** Files that every host has, whatever its role. `publicKey` is the bastion's. */
export const commonFiles = (host: HostSpec, publicKey: string): HostFile[] => [
  { path: '/etc/hostname', content: `${host.name}\n` },
  { path: '/etc/machine-id', content: `${host.machineId}\n`, mode: 0o444 },
  { path: '/etc/hosts', content: hostsFile() },
  { path: '/etc/systemd/system/lab-address.service', content: ADDRESS_UNIT(host) },
  { path: '/etc/ssh/authorized_keys.d/certroll', content: publicKey },
  { path: '/etc/ssh/authorized_keys.d/limited', content: publicKey },
  // Kept over a loss of power: when services were restarted is judged by it.
  {
    path: '/etc/systemd/journald.conf.d/lab.conf',
    content: '[Journal]\nStorage=persistent\nSystemMaxUse=64M\nRateLimitBurst=0\n',
  },
];

export const COMMON_UNITS = ['lab-address.service'] as const;
