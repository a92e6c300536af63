import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { HOST_NAMES } from './settings.js';

/** The ports of a playground, all on loopback. */
export interface Ports {
  readonly etcd: number;
  readonly etcdPeer: number;
  /** By full host name. */
  readonly ssh: Readonly<Record<string, number>>;
  readonly api: Readonly<Record<string, number>>;
}

const FIRST = 10_000;

/**
 * Below the range that the kernel takes for outgoing connections: else one of those could take the port of an apiserver
 * in the moment that it restarts.
 */
const highest = async (): Promise<number> => {
  const range = await readFile('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').catch(() => '');
  const low = Number(/^\d+/.exec(range)?.[0] ?? 32_768);
  return low > FIRST + 1000 ? low - 1 : 65_535;
};

const isFree = async (port: number): Promise<boolean> => {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
};

/** Ports that nobody listens on now. Another playground may choose the same in the same moment: then `up` tries again. */
export const choosePorts = async (): Promise<Ports> => {
  const top = await highest();
  const chosen = new Set<number>();
  while (chosen.size < 2 + 2 * HOST_NAMES.length) {
    const port = FIRST + Math.floor(Math.random() * (top - FIRST));
    if (await isFree(port)) chosen.add(port);
  }
  const [etcd = 0, etcdPeer = 0, ...rest] = chosen;
  const perHost = (ports: readonly number[]): Record<string, number> =>
    Object.fromEntries(HOST_NAMES.map((host, index) => [host, ports[index] ?? 0]));
  return {
    etcd,
    etcdPeer,
    ssh: perHost(rest.slice(0, HOST_NAMES.length)),
    api: perHost(rest.slice(HOST_NAMES.length)),
  };
};
