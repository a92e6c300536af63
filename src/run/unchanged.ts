import { PREVIOUS } from '../changes/file-names.js';
import type { KeyBindings } from '../changes/change.js';
import { changedMeanwhile } from '../hosts/fence.js';
import {
  hostOf,
  nextFlags,
  onDisk,
  type FileState,
  type HostState,
  type KeyRef,
  type Loaded,
  type ServiceState,
  type World,
} from '../trust/world.js';
import type { SeenHost } from './observe-host.js';

type Keys = Pick<Loaded, 'signs' | 'verifies'>;

/** The kids of keys, in an order that two lists of the same have in common. */
const kids = (refs: readonly (KeyRef | undefined)[], keys: KeyBindings): string =>
  [...new Set(refs.flatMap((ref) => (ref === undefined ? [] : [keys.resolve(ref).kid])))].sort().join();

const sameFile = (
  expected: FileState | undefined,
  seen: FileState | undefined,
  keys: KeyBindings,
): boolean => {
  if (!expected || !seen) return expected === seen;
  return (
    kids([expected.signingKey], keys) === (seen.signingKey ?? '') &&
    kids(expected.verificationKeys, keys) === [...new Set(seen.verificationKeys)].sort().join()
  );
};

const sameKeys = (expected: Keys, seen: Keys, keys: KeyBindings): boolean =>
  kids([expected.signs], keys) === (seen.signs ?? '') &&
  kids(expected.verifies, keys) === [...new Set(seen.verifies)].sort().join();

/**
 * A process may have crashed at any moment of the run and been started again: then it has loaded what its files were
 * predicted to hold at that moment.
 */
const sameLoaded = (past: readonly HostState[], seen: ServiceState, keys: KeyBindings): boolean => {
  const states = past.flatMap((host) => {
    const service = host.services.get(seen.service);
    return service ? [{ host, service }] : [];
  });
  const expected = states.at(-1)?.service.loaded;
  if (!expected || expected.how === 'unknown') return true;
  if (expected.how === 'process-start' && seen.loaded.how === 'unknown') return true;
  return (
    sameKeys(expected, seen.loaded, keys) ||
    states.some(({ host, service }) => sameKeys(onDisk(host, service), seen.loaded, keys))
  );
};

const sameFlags = (expected: ServiceState, seen: ServiceState): boolean =>
  JSON.stringify(nextFlags(expected)) === JSON.stringify(nextFlags(seen));

/**
 * What of a host is not as predicted: files by their paths, and what else in words. `past`: the host as it was found, and
 * as it was predicted after each entry since, this moment last. Pure.
 */
export const changesOnHost = (
  past: readonly HostState[],
  { state, sums }: SeenHost,
  keys: KeyBindings,
): readonly string[] => {
  const expected = past.at(-1);
  if (!expected) return [];
  const files = [...sums.keys()].filter(
    (path) => !path.endsWith(PREVIOUS) && !sameFile(expected.files.get(path), state.files.get(path), keys),
  );
  const services = [...expected.services.values()].flatMap((service) => {
    const seen = state.services.get(service.service);
    if (!seen) return [`${service.service}, which does not run any more`];
    if (!sameFlags(service, seen)) return [`the flags of ${service.service}`];
    if (service.definition !== seen.definition) return [`the manifest of ${service.service}`];
    return sameLoaded(past, seen, keys) ? [] : [`what ${service.service} has loaded`];
  });
  return [...files, ...services];
};

/**
 * Throws `host.changed` unless a host is still as the plan has it at this moment, the last of `past`. A plan is made for what was observed:
 * what somebody else writes on a host meanwhile would be overwritten by it, and a key that only he knew be trusted no more.
 */
export const checkUnchanged = (past: readonly World[], seen: SeenHost, keys: KeyBindings): void => {
  const { name } = seen.state;
  const hosts = past.map((world) => hostOf(world, name));
  const changed = changesOnHost(hosts, seen, keys);
  if (changed.length > 0) throw changedMeanwhile(name, changed);
};
