import { z } from 'zod';
import { onDisk, type World } from '../../trust/world.js';
import type { Step } from '../step.js';
import { recordOf } from './publish.js';

const signingKeys = (world: World): ReadonlySet<string | undefined> =>
  new Set(
    [...world.hosts.values()].flatMap((host) =>
      [...host.services.values()].flatMap((service) => [service.loaded.signs, onDisk(host, service).signs]),
    ),
  );

/** Old keys stay trusted, on record, from the moment nothing signs with them any more; the rotation is closed. */
export const soak: Step<Record<string, never>> = {
  summary:
    'Record that the old keys sign nothing any more; they stay trusted while their tokens live. Closes the rotation',
  withSchema: z.strictObject({}),
  outputs: ['keys'],

  plan(draft) {
    const signing = signingKeys(draft.world);
    const old = [...draft.world.keys.values()].filter(
      (record) => record.state === 'promoted' && !signing.has(record.key),
    );
    const { rotation } = draft.world;
    if (rotation?.state === 'open' || old.length > 0) {
      draft.change({
        kind: 'put-records',
        records: old.flatMap((record) => recordOf(draft.world, record.key, 'soaking')),
        ...(rotation?.state === 'open' && { rotation: { id: rotation.id, state: 'done' as const } }),
      });
    }
    return { keys: old.length };
  },
};
