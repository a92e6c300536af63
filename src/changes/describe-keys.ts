import { foldHosts } from '../hosts/fold.js';
import type { KeyRef } from '../trust/world.js';

const NEXT = 'next key of ';

/** Keys for people: several symbols of hosts are taken together, `next keys of cp[1-3]`. */
export const describeKeys = (keys: readonly KeyRef[]): string => {
  const hosts = keys.filter((key) => key.startsWith(NEXT)).map((key) => key.slice(NEXT.length));
  const others = keys.filter((key) => !key.startsWith(NEXT));
  const folded = hosts.length > 1 ? [`next keys of ${foldHosts(hosts)}`] : hosts.map((host) => NEXT + host);
  return [...folded, ...others].join(', ');
};
