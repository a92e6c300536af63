import { hostOf, type KeyRef, type World } from '../../trust/world.js';
import { refuse } from '../refuse.js';
import type { Site } from '../step.js';
import { layoutOf } from './layout.js';

/** The key a host is rotated to, and where it is by now. */
export interface NextKey {
  readonly host: string;
  readonly key: KeyRef;
  /** nowhere: still to be generated or copied · staged: beside the live one · live: installed as the signing file. */
  readonly where: 'nowhere' | 'staged' | 'live';
}

/** The rotation that is under way, or the one that this run begins. */
export const rotationId = (world: World, site: Site): string =>
  world.rotation?.state === 'open' ? world.rotation.id : site.runId;

/** What of this rotation a host has by now. A key in flight is found again, so that none is issued twice. */
const found = (world: World, name: string, site: Site): NextKey | undefined => {
  const host = hostOf(world, name);
  const layout = layoutOf(host, site);
  const live = host.files.get(layout.signingFile)?.signingKey;
  const rotation = world.rotation?.state === 'open' ? world.rotation.id : undefined;
  if (live !== undefined && rotation !== undefined && world.keys.get(live)?.rotation === rotation) {
    return { host: name, key: live, where: 'live' };
  }
  const staged = host.files.get(layout.stagedKey)?.signingKey;
  if (staged === undefined || spent(world, staged)) return undefined;
  return { host: name, key: staged, where: 'staged' };
};

/** A staged key that was in use before must not come back as a new one; one of this rotation may be about to be used. */
const spent = (world: World, key: KeyRef): boolean => {
  const record = world.keys.get(key);
  if (record?.state === 'promoted')
    return world.rotation?.state !== 'open' || record.rotation !== world.rotation.id;
  return record?.state === 'soaking' || record?.state === 'retired';
};

/** The next key of every host of the step, in order. Shared mode: the same key for all. */
export const nextKeys = (world: World, site: Site): readonly NextKey[] => {
  const known = site.hosts.map((name) => found(world, name, site));
  if (site.mode === 'per-host') {
    return site.hosts.map(
      (name, at) => known[at] ?? { host: name, key: `next key of ${name}`, where: 'nowhere' },
    );
  }
  const shared = known.find((next) => next?.where === 'live') ?? known.find((next) => next !== undefined);
  const key = shared?.key ?? 'next shared key';
  return site.hosts.map((name, at) => {
    const own = known[at];
    return own?.key === key ? own : { host: name, key, where: 'nowhere' };
  });
};

/** The next keys, all of which must be staged or live by now. Throws `plan.refused` for a host that has none. */
export const issuedKeys = (world: World, site: Site): readonly NextKey[] => {
  const keys = nextKeys(world, site);
  const missing = keys.find((next) => next.where === 'nowhere');
  if (!missing) return keys;
  throw refuse(
    missing.host,
    'no next key is staged there',
    'Put a step sa-keys/issue before this one in the cookbook.',
  );
};
