import type { Doors } from '../changes/change.js';
import type { HeldLock } from '../etcd/store.js';
import type { Fence } from '../hosts/fence.js';
import type { Host } from '../hosts/host.js';

export interface FenceOptions {
  /** The lock of the run, and that of the section where there is one. */
  readonly runLock: HeldLock;
  readonly sectionLock: HeldLock | undefined;
  /** What was seen in the files of a host right before this change of it. */
  readonly seen: { readonly host: string; readonly sums: NonNullable<Fence['sums']> } | undefined;
}

/**
 * The doors of a run that holds locks. What changes something through them does so only while the locks can be counted on
 * and the files are what was seen, and it is the other side that sees to it: a host by its own clock and its own disk,
 * etcd by the key of the run's lock. A run that was stopped for longer than its lease cannot mix its changes into those of
 * the next one, nor write over what somebody else has written meanwhile.
 */
export const fencedDoors = (doors: Doors, { runLock, sectionLock, seen }: FenceOptions): Doors => {
  const leftMs = (): number => Math.min(runLock.leftMs(), sectionLock?.leftMs() ?? Infinity);
  // One object a host: it knows which of the files it has changed itself.
  const hosts = new Map<string, Host>();
  const fenced = (name: string): Host =>
    doors.host(name).fenced({ leftMs, ...(seen?.host === name && { sums: seen.sums }) });
  return {
    ...doors,
    host: (name) => {
      const host = hosts.get(name) ?? fenced(name);
      hosts.set(name, host);
      return host;
    },
    store: {
      ...doors.store,
      put: async (key, value, conditions) =>
        doors.store.put(key, value, { ...conditions, whileHeld: runLock }),
    },
  };
};
