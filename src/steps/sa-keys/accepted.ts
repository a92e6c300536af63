import { z } from 'zod';
import { hostOf } from '../../trust/world.js';
import type { Step } from '../step.js';
import { layoutOf } from './layout.js';
import { issuedKeys } from './next-key.js';
import { isAtLeast, recordOf } from './publish.js';

/** The gate before anything is signed with a new key. */
export const accepted: Step<Record<string, never>> = {
  summary: 'Gate: every running apiserver lists every next key and accepts a probe token signed with it',
  withSchema: z.strictObject({}),
  outputs: [],

  plan(draft, _given, site) {
    const keys = issuedKeys(draft.world, site);
    if (keys.every((next) => next.where === 'live')) return {};
    draft.gate({
      kind: 'keys-accepted',
      keys: keys.map((next) => {
        const layout = layoutOf(hostOf(draft.world, next.host), site);
        return {
          key: next.key,
          host: next.host,
          path: next.where === 'live' ? layout.signingFile : layout.stagedKey,
        };
      }),
    });
    const fresh = [...new Set(keys.map((next) => next.key))].filter(
      (key) => !isAtLeast(draft.world, key, 'accepted'),
    );
    if (fresh.length > 0) {
      draft.change({
        kind: 'put-records',
        records: fresh.flatMap((key) => recordOf(draft.world, key, 'accepted')),
      });
    }
    // Who verifies tokens outside of the cluster has a key list of up to that age, and would refuse the new keys.
    const waiting = [...new Set(keys.filter((next) => next.where !== 'live').map((next) => next.key))].filter(
      (key) => !isAtLeast(draft.world, key, 'promoted'),
    );
    if (site.jwksMaxAgeMs > 0 && waiting.length > 0) {
      draft.gate({
        kind: 'waited',
        keys: waiting,
        from: 'accepted',
        ms: site.jwksMaxAgeMs,
        why: 'verifiers outside of the cluster may use a key list of that age (serviceAccounts.jwksMaxAge)',
      });
    }
    return {};
  },
};
