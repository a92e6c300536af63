import { readFile } from '../../audit/content.js';
import { endpointKey, type ServedEndpoint } from '../../audit/facts.js';
import type { Host } from '../../hosts/host.js';
import { inspect } from '../../hosts/inspect.js';
import type { Address } from '../../kube/endpoints.js';

/** As many a round trip: those that do not answer take seconds each, one after the other. */
const AT_ONCE = 5;

/** Milliseconds for all of them; those whose turn did not come were not seen. An audit must end, whoever made which webhook. */
const MOST_MS = 60_000;

/**
 * What servers show that kube-apiserver calls (webhooks, aggregated apiservers), seen from a host that it runs on: only there
 * are the addresses of Services sure to lead somewhere. Changes nothing. Throws the errors of `inspect`.
 */
export const lookAtEndpoints = async (
  host: Host,
  addresses: readonly Address[],
  now: () => number = () => performance.now(),
): Promise<ReadonlyMap<string, ServedEndpoint>> => {
  const asked = [...new Map(addresses.map((each) => [endpointKey(each), each])).values()];
  const found = new Map<string, ServedEndpoint>(
    asked.map((each) => [endpointKey(each), { from: host.name, chain: [] }]),
  );
  const end = now() + MOST_MS;
  for (let at = 0; at < asked.length && now() < end; at += AT_ONCE) {
    const { ports } = await inspect(host, { ports: asked.slice(at, at + AT_ONCE) });
    for (const { address, serverName = '', certificates } of ports) {
      const { certificates: chain } = readFile({ kind: 'certificate', text: certificates });
      found.set(endpointKey({ address, serverName }), { from: host.name, chain });
    }
  }
  return found;
};
