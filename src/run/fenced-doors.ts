import type { Doors } from '../changes/change.js';
import type { HeldLock } from '../etcd/store.js';

/**
 * The doors of a run that holds locks. What changes something through them does so only while the locks can be counted on,
 * and it is the other side that sees to it: a host by its own clock, etcd by the key of the run's lock. A run that was
 * stopped for longer than its lease cannot mix its changes into those of the next one.
 */
export const fencedDoors = (doors: Doors, runLock: HeldLock, sectionLock: HeldLock | undefined): Doors => ({
  ...doors,
  host: (name) =>
    doors.host(name).fenced(() => Math.min(runLock.leftMs(), sectionLock?.leftMs() ?? Infinity)),
  store: {
    ...doors.store,
    put: async (key, value, conditions) => doors.store.put(key, value, { ...conditions, whileHeld: runLock }),
  },
});
