import { join } from 'node:path';
import { BASTION } from './bastion-paths.js';
import { CONTROL_PLANES } from './settings.js';

/** The command line of etcdctl with the bastion's client certificate. */
export const etcdctlArguments = (args: readonly string[]): string[] => [
  join(BASTION.bin, 'etcdctl'),
  `--endpoints=${CONTROL_PLANES.map((host) => `https://${host.address}:2379`).join(',')}`,
  `--cacert=${BASTION.etcd.ca}`,
  `--cert=${BASTION.etcd.cert}`,
  `--key=${BASTION.etcd.key}`,
  ...args,
];
