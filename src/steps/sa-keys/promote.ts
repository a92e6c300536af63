import { z } from 'zod';
import type { Draft } from '../../changes/plan.js';
import { hostOf, isStale, type ServiceName } from '../../trust/world.js';
import type { Site, Step } from '../step.js';
import { layoutOf } from './layout.js';
import { issuedKeys, type NextKey } from './next-key.js';
import { isAtLeast, recordOf } from './publish.js';

/** Restarts a service of a host that has not loaded what its files hold now; false when it has. */
export const restartIfStale = (draft: Draft, host: string, name: ServiceName, section: string): boolean => {
  const state = hostOf(draft.world, host);
  const service = state.services.get(name);
  if (!service || !isStale(state, service)) return false;
  draft.change({ kind: 'restart-service', host, service: name }, section);
  return true;
};

const promoteOn = (draft: Draft, next: NextKey, site: Site): void => {
  const { signingFile, certificateFile, stagedKey, stagedCertificate } = layoutOf(
    hostOf(draft.world, next.host),
    site,
  );
  const section = `promote on ${next.host}`;
  if (next.where !== 'live') {
    const files = [{ from: stagedKey, to: signingFile }];
    if (stagedCertificate !== undefined && certificateFile !== undefined)
      files.push({ from: stagedCertificate, to: certificateFile });
    draft.change({ kind: 'install-files', host: next.host, files }, section);
  }
  // The apiserver first: the controller-manager talks to it when it starts.
  const restarted = restartIfStale(draft, next.host, 'kube-apiserver', section);
  // Also where nothing is restarted: a run that was stopped between the restart and this gate has not seen it hold.
  const gate = { kind: 'signs-with', host: next.host, service: 'kube-apiserver', key: next.key } as const;
  draft.gate(gate, restarted ? section : undefined);
  restartIfStale(draft, next.host, 'kube-controller-manager', section);
};

/** Swaps the staged key in as the signer, one control plane after the other. */
export const promote: Step<Record<string, never>> = {
  summary:
    'Install the next key as the signing key and restart what signs with it, one control plane at a time',
  withSchema: z.strictObject({}),
  outputs: [],

  plan(draft, _given, site) {
    const keys = issuedKeys(draft.world, site);
    const fresh = [...new Set(keys.map((next) => next.key))].filter(
      (key) => !isAtLeast(draft.world, key, 'promoted'),
    );
    // On record before the first of them can sign anything: whatever happens to this run, its tokens are not forgotten.
    if (fresh.length > 0) {
      draft.change({
        kind: 'put-records',
        records: fresh.flatMap((key) => recordOf(draft.world, key, 'promoted')),
      });
    }
    for (const next of keys) promoteOn(draft, next, site);
    return {};
  },
};
