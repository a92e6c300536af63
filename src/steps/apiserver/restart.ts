import { z } from 'zod';
import { hostOf, isStale } from '../../trust/world.js';
import { apiserverOf } from '../sa-keys/layout.js';
import type { Step } from '../step.js';

const withSchema = z.strictObject({
  only: z
    .enum(['stale', 'all'])
    .default('stale')
    .describe('stale: only where the running process has not loaded what its files hold now'),
});

/** Restarts kube-apiservers one at a time, each under the lock and until it is ready again. */
export const restart: Step<z.output<typeof withSchema>> = {
  summary: 'Restart kube-apiservers one at a time under the lock, each only after the one before is ready',
  withSchema,
  outputs: ['restarted'],

  plan(draft, given, site) {
    let restarted = 0;
    for (const name of site.hosts) {
      const host = hostOf(draft.world, name);
      const apiserver = apiserverOf(host);
      if (given.only === 'stale' && !isStale(host, apiserver)) continue;
      draft.change({ kind: 'restart-service', host: name, service: 'kube-apiserver' }, `restart on ${name}`);
      restarted += 1;
    }
    return { restarted };
  },
};
