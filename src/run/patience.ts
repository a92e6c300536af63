import type { Timers } from '../core/poll.js';
import type { HostFacts, ServiceFact } from '../hosts/host.js';
import { isOutstanding } from '../hosts/static-pod/obstacles.js';

/** How long a look waits for services that their manager is at starting. */
export interface Patience {
  readonly timers: Timers;
  /** Milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Whether kubelet is at starting a service: its manifest is there and its process is not, or there are two of them, or it is older
 * than a restart that was asked for. A controller-manager of kubeadm ends by itself whenever its apiserver is away for longer
 * than its lease, and its next container comes after a pause that grows.
 */
const isInTheMaking = (fact: ServiceFact): boolean => {
  if (fact.running) return isOutstanding(fact);
  return fact.isUnclear === true || (fact.manifest !== undefined && fact.manifest.problem === undefined);
};

/**
 * Facts of a host once all of its services are there; those of the last look when the time is up. What is not seen is not
 * planned for, and what comes in the middle of a plan is not what it was made for.
 */
export const readPatiently = async (
  read: () => Promise<HostFacts>,
  patience: Patience | undefined,
  progress: (text: string) => void,
): Promise<HostFacts> => {
  let facts = await read();
  const waitedFor = (): string | undefined =>
    [...facts.services].find(([, fact]) => isInTheMaking(fact))?.[0];
  if (!patience || waitedFor() === undefined) return facts;
  await patience.timers.poll(
    async () => {
      const service = waitedFor();
      if (service === undefined) return true;
      progress(`waiting for kubelet to have one ${service} running`);
      facts = await read();
      return waitedFor() === undefined ? true : undefined;
    },
    { timeoutMs: patience.timeoutMs, intervalMs: 1000, signal: patience.signal },
  );
  return facts;
};
