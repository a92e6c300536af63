import { z } from 'zod';
import {
  hostOf,
  KEY_STATES,
  onDisk,
  processId,
  type KeyRef,
  type KeyState,
  type ProcessId,
  type World,
} from '../../trust/world.js';
import type { Step } from '../step.js';
import { layoutOf } from './layout.js';
import { issuedKeys } from './next-key.js';

/** Whether a key has come at least as far as `state`. */
export const isAtLeast = (world: World, key: KeyRef, state: KeyState): boolean => {
  const found = world.keys.get(key)?.state;
  return found !== undefined && KEY_STATES.indexOf(found) >= KEY_STATES.indexOf(state);
};

/** Keys that something signs with now, or would after a restart, with the processes that do. */
const signingNow = (world: World): ReadonlyMap<KeyRef, readonly ProcessId[]> => {
  const keys = new Map<KeyRef, ProcessId[]>();
  for (const host of world.hosts.values()) {
    for (const service of host.services.values()) {
      for (const key of new Set([service.loaded.signs, onDisk(host, service).signs])) {
        if (key === undefined) continue;
        keys.set(key, [...(keys.get(key) ?? []), processId(service.service, host.name)]);
      }
    }
  }
  return keys;
};

/**
 * Every key that a live token may carry: what signs now, what the registry has not retired, and whatever any host's
 * files already list (never taken away here: another host may know why it is there).
 */
const liveKeys = (world: World): ReadonlySet<KeyRef> => {
  const live = new Set<KeyRef>(signingNow(world).keys());
  for (const record of world.keys.values()) live.add(record.key);
  for (const host of world.hosts.values()) {
    const apiserver = host.services.get('kube-apiserver');
    if (apiserver) for (const key of onDisk(host, apiserver).verifies) live.add(key);
  }
  for (const record of world.keys.values()) if (record.state === 'retired') live.delete(record.key);
  return live;
};

/** Writes every live and every next public key into the bundle of every control plane. */
export const publish: Step<Record<string, never>> = {
  summary: 'Write every live and every next public key into the verification bundle of every control plane',
  withSchema: z.strictObject({}),
  outputs: ['keys'],

  plan(draft, _given, site) {
    const next = issuedKeys(draft.world, site).map(({ key }) => key);
    const found = [...signingNow(draft.world)].filter(([key]) => !draft.world.keys.has(key));
    if (found.length > 0) {
      draft.change({
        kind: 'put-records',
        records: found.map(([key, signers]) => ({ key, state: 'promoted', signers })),
      });
    }
    const keys = [...new Set([...liveKeys(draft.world), ...next])].sort();
    for (const name of site.hosts) {
      const host = hostOf(draft.world, name);
      const { bundleFile, signingFile } = layoutOf(host, site);
      const held = new Set(host.files.get(bundleFile)?.verificationKeys);
      if (keys.every((key) => held.has(key))) continue;
      draft.change({
        kind: 'write-file',
        host: name,
        path: bundleFile,
        content: { type: 'verification-keys', keys },
        like: signingFile,
      });
    }
    const fresh = [...new Set(next)].filter((key) => !isAtLeast(draft.world, key, 'published'));
    if (fresh.length > 0) {
      draft.change({
        kind: 'put-records',
        records: fresh.flatMap((key) => recordOf(draft.world, key, 'published')),
      });
    }
    return { keys: keys.length };
  },
};

/** The registry record of a key, moved on to another state. */
export const recordOf = (world: World, key: KeyRef, state: KeyState) => {
  const record = world.keys.get(key);
  if (!record) return [];
  return [
    {
      key,
      state,
      signers: record.signers,
      ...(record.rotation === undefined ? {} : { rotation: record.rotation }),
    },
  ];
};
