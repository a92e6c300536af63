import { join } from 'node:path';
import type { Topology } from './topology.js';

/** The command line of etcdctl with the client certificate of a lab's bastion. */
export const etcdctlArguments = ({ bastion, controlPlanes }: Topology, args: readonly string[]): string[] => [
  join(bastion.bin, 'etcdctl'),
  `--endpoints=${controlPlanes.map((host) => `https://${host.address}:2379`).join(',')}`,
  `--cacert=${bastion.etcd.ca}`,
  `--cert=${bastion.etcd.cert}`,
  `--key=${bastion.etcd.key}`,
  ...args,
];
