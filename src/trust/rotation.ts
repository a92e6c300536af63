import type { World } from './world.js';

/**
 * Whether the last rotation on record was rolled back: by the registry's word none of the keys that were issued for it
 * signs. A rotation that is done leaves its keys promoted, and one after it would be the last.
 */
export const isRolledBack = ({ rotation, keys }: World): boolean => {
  if (rotation?.state !== 'done') return false;
  const issued = [...keys.values()].filter((record) => record.rotation === rotation.id);
  return issued.length > 0 && issued.every(({ state }) => state !== 'promoted');
};
