import { z } from 'zod';
import { lastSigned } from '../../trust/live.js';
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
import type { PutRecords } from '../../changes/change.js';
import type { Step } from '../step.js';
import { layoutOf } from './layout.js';
import { issuedKeys } from './next-key.js';

/** Whether a key has come at least as far as `state`. */
export const isAtLeast = (world: World, key: KeyRef, state: KeyState): boolean => {
  const found = world.keys.get(key)?.state;
  return found !== undefined && KEY_STATES.indexOf(found) >= KEY_STATES.indexOf(state);
};

/** Keys that something signs with now, or would after a restart, with the processes that do. */
export const signingNow = (world: World): ReadonlyMap<KeyRef, readonly ProcessId[]> => {
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
  const signing = signingNow(world);
  const live = new Set<KeyRef>(signing.keys());
  // One that is issued and no more is for the rotation that issued it to publish.
  for (const record of world.keys.values()) if (record.state !== 'issued') live.add(record.key);
  for (const host of world.hosts.values()) {
    const apiserver = host.services.get('kube-apiserver');
    if (apiserver) for (const key of onDisk(host, apiserver).verifies) live.add(key);
  }
  for (const record of world.keys.values())
    if (record.state === 'retired' && !signing.has(record.key)) live.delete(record.key);
  return live;
};

const withSchema = z.strictObject({
  next: z
    .boolean()
    .default(true)
    .describe('false: the keys in use only, without the next ones of a rotation'),
});

/**
 * Records of keys that certroll finds and did not expect to sign. One that nothing signs with has signed some time before it was
 * found; it soaks from now on.
 */
const foundKeys = (world: World): PutRecords['records'] => {
  const signing = signingNow(world);
  const unknown = [...liveKeys(world)].filter((key) => {
    const state = world.keys.get(key)?.state;
    // One that was put back by hand signs again, whatever its record says.
    return state === undefined || ((state === 'soaking' || state === 'retired') && signing.has(key));
  });
  return unknown.map((key) => {
    const signers = signing.get(key);
    return signers
      ? { key, state: 'promoted' as const, signers }
      : { key, state: 'soaking' as const, signers: [] };
  });
};

/** Writes every live and every next public key, and no other, into the bundle of every control plane. */
export const publish: Step<z.output<typeof withSchema>> = {
  summary: 'Write every live and every next public key into the verification bundle of every control plane',
  withSchema,
  outputs: ['keys'],

  plan(draft, given, site) {
    const next = given.next ? issuedKeys(draft.world, site).map(({ key }) => key) : [];
    const found = foundKeys(draft.world);
    if (found.length > 0) draft.change({ kind: 'put-records', records: found });
    const keys = [...new Set([...liveKeys(draft.world), ...next])].sort();
    for (const name of site.hosts) {
      const host = hostOf(draft.world, name);
      const { bundleFile, signingFile } = layoutOf(host, site);
      const held = new Set(host.files.get(bundleFile)?.verificationKeys);
      if (held.size === keys.length && keys.every((key) => held.has(key))) continue;
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
export const recordOf = (world: World, key: KeyRef, state: KeyState): PutRecords['records'] => {
  const record = world.keys.get(key);
  if (!record) return [];
  const last = state === 'promoted' ? undefined : lastSigned(record);
  return [
    {
      key,
      state,
      signers: record.signers,
      ...(record.rotation === undefined ? {} : { rotation: record.rotation }),
      ...(last && { lastSigned: last }),
    },
  ];
};
