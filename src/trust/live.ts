import type { KeyRecord, KeyRef, LegacyToken, World } from './world.js';

/** When something last signed with a key that nothing signs with any more; undefined for others, and for one that never came to sign. */
export const lastSigned = (record: KeyRecord): Date | undefined => {
  if (record.state === 'soaking') return record.lastSigned ?? record.since;
  return record.state === 'retired' ? record.lastSigned : undefined;
};

/**
 * When the last token signed with such a key has run out: the longest life a token may have, counted from then. For a
 * retired key that is the life of when it was retired; a record that somebody else wrote has none, and gets today's.
 */
export const tokensEnd = (world: World, record: KeyRecord): Date | undefined => {
  const from = lastSigned(record);
  const lifeMs = (record.state === 'retired' ? record.lifeMs : undefined) ?? world.tokenLife.maxMs;
  return from && new Date(from.getTime() + lifeMs);
};

/** Token Secrets signed with a key: they never run out. */
export const legacyTokensOf = (world: World, key: KeyRef): readonly LegacyToken[] =>
  (world.legacyTokens ?? []).filter(({ kid }) => kid === key);

/** Whether a client may still hold a token that carries this key, whatever its state on record says. */
export const mayBeLive = (world: World, record: KeyRecord): boolean => {
  switch (record.state) {
    case 'promoted':
      return true;
    case 'soaking':
    case 'retired': {
      const end = tokensEnd(world, record);
      return (end !== undefined && end > world.now) || legacyTokensOf(world, record.key).length > 0;
    }
    case 'issued':
    case 'published':
    case 'accepted':
      // Nothing but certroll's own probes was ever signed with it.
      return false;
  }
};
