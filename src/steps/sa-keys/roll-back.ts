import { PREVIOUS } from '../../changes/file-names.js';
import type { Draft } from '../../changes/plan.js';
import { hostOf, onDisk, type KeyRef, type KeyState, type World } from '../../trust/world.js';
import { restart } from '../apiserver/restart.js';
import { refuse } from '../refuse.js';
import type { Site } from '../step.js';
import { layoutOf } from './layout.js';
import { restartIfStale } from './promote.js';
import { publish, recordOf, signingNow } from './publish.js';

/** What a run found when it began: which key each host signed with, and how far each key had come. */
export interface Before {
  readonly signs: Readonly<Record<string, KeyRef>>;
  readonly keys: Readonly<Record<KeyRef, KeyState>>;
}

/** What of a world its rollback would need; a key still to be generated has no place in an observed one. */
export const beforeOf = (world: World): Before => ({
  signs: Object.fromEntries(
    [...world.hosts.values()].flatMap((host) => {
      const apiserver = host.services.get('kube-apiserver');
      const key = apiserver && onDisk(host, apiserver).signs;
      return key === undefined ? [] : [[host.name, key] as const];
    }),
  ),
  keys: Object.fromEntries([...world.keys.values()].map(({ key, state }) => [key, state])),
});

/** Where the private half of the wanted key lies on a host: live, or as what the live one was before. */
const whereIs = (world: World, name: string, key: KeyRef, site: Site): 'live' | 'previous' => {
  const host = hostOf(world, name);
  const { signingFile } = layoutOf(host, site);
  if (host.files.get(signingFile)?.signingKey === key) return 'live';
  if (host.files.get(signingFile + PREVIOUS)?.signingKey === key) return 'previous';
  throw refuse(
    name,
    `the private key ${key}, which it signed with before that run, is not there any more`,
    `Only ${signingFile} and ${signingFile + PREVIOUS} are looked at; another change has taken its place. A new rotation (run rotate-sa-keys --force) is the way on.`,
  );
};

/** Keys that the run retired are trusted again, before anything else. */
const trustAgain = (draft: Draft, before: Before): readonly KeyRef[] => {
  const keys = [...draft.world.keys.values()].filter(
    ({ key, state }) =>
      state === 'retired' && before.keys[key] !== undefined && before.keys[key] !== 'retired',
  );
  if (keys.length > 0) {
    draft.change({
      kind: 'put-records',
      records: keys.flatMap(({ key }) => recordOf(draft.world, key, 'soaking')),
    });
  }
  return keys.map(({ key }) => key);
};

/** Whether some apiserver does not have all of the keys, in memory and in its files. */
const isMissing = (world: World, keys: readonly KeyRef[]): boolean =>
  [...world.hosts.values()].some((host) => {
    const apiserver = host.services.get('kube-apiserver');
    if (!apiserver) return false;
    const { verifies } = onDisk(host, apiserver);
    return keys.some((key) => !verifies.includes(key) || !apiserver.loaded.verifies.includes(key));
  });

const signAgain = (draft: Draft, name: string, key: KeyRef, site: Site): void => {
  const { signingFile, certificateFile } = layoutOf(hostOf(draft.world, name), site);
  const hasCertificate =
    certificateFile !== undefined && hostOf(draft.world, name).files.has(certificateFile + PREVIOUS);
  draft.change(
    {
      kind: 'restore-files',
      host: name,
      paths: [signingFile, ...(hasCertificate ? [certificateFile] : [])],
      key,
    },
    `roll back on ${name}`,
  );
};

/**
 * Before anything else: what signs is on record as signing, so that its tokens are not forgotten when it signs no more; and
 * the rotation is closed, so that no run goes on with it should this one be stopped.
 */
const close = (draft: Draft): void => {
  const { world } = draft;
  const signing = [...signingNow(world).keys()].filter((key) => {
    const state = world.keys.get(key)?.state;
    return state !== undefined && state !== 'promoted';
  });
  const open = world.rotation?.state === 'open' ? world.rotation.id : undefined;
  if (signing.length === 0 && open === undefined) return;
  draft.change({
    kind: 'put-records',
    records: signing.flatMap((key) => recordOf(world, key, 'promoted')),
    ...(open !== undefined && { rotation: { id: open, state: 'done' as const } }),
  });
};

/** What waits to be installed does so no more. */
const unstage = (draft: Draft, name: string, site: Site): void => {
  const { stagedKey, stagedCertificate } = layoutOf(hostOf(draft.world, name), site);
  for (const path of [stagedKey, stagedCertificate])
    if (path !== undefined && hostOf(draft.world, name).files.has(path))
      draft.change({ kind: 'remove-file', host: name, path });
};

/** The registry says again what is so: who signs, what has signed and soaks, what never came to sign. */
const settle = (draft: Draft): void => {
  const { world } = draft;
  const signing = signingNow(world);
  const records = [...world.keys.values()].flatMap(({ key, state }) => {
    if (signing.has(key)) return state === 'promoted' ? [] : recordOf(world, key, 'promoted');
    if (state === 'promoted') return recordOf(world, key, 'soaking');
    return state === 'issued' || state === 'published' || state === 'accepted'
      ? recordOf(world, key, 'retired')
      : [];
  });
  if (records.length > 0) draft.change({ kind: 'put-records', records });
};

/**
 * Plans the way back to what a run found: every host signs with the key that it signed with then. By the same rules as
 * the way there: the old keys are published and loaded everywhere, and seen to be accepted, before anything signs with
 * them; the keys of the run stay trusted while their tokens live. Throws `plan.refused`.
 */
export const rollBack = (draft: Draft, before: Before, site: Site): void => {
  draft.startStep('sa-keys/roll-back');
  const wanted = site.hosts.flatMap((name) => {
    const key = before.signs[name];
    return key === undefined ? [] : [{ name, key, where: whereIs(draft.world, name, key, site) }];
  });
  const back = wanted.filter(({ where }) => where === 'previous').reverse();
  draft.finding({
    severity: 'info',
    host: undefined,
    text:
      back.length === 0
        ? 'every control plane signs with the key that this run found'
        : `goes back on ${back.length} control planes to the key that this run found`,
  });
  close(draft);
  const needed = [...wanted.map(({ key }) => key), ...trustAgain(draft, before)];
  if (isMissing(draft.world, needed)) {
    publish.plan(draft, { next: false }, site);
    restart.plan(draft, { only: 'stale' }, site);
  }
  if (back.length > 0) {
    draft.gate({
      kind: 'keys-accepted',
      keys: back.map(({ name, key }) => ({
        key,
        host: name,
        path: layoutOf(hostOf(draft.world, name), site).signingFile + PREVIOUS,
      })),
    });
  }
  // As on the way there: on record before the first of them can sign.
  const again = back.map(({ key }) => key).filter((key) => draft.world.keys.get(key)?.state !== 'promoted');
  if (again.length > 0) {
    draft.change({
      kind: 'put-records',
      records: again.flatMap((key) => recordOf(draft.world, key, 'promoted')),
    });
  }
  for (const { name, key } of [...wanted].reverse()) {
    const section = `roll back on ${name}`;
    if (back.some((each) => each.name === name)) signAgain(draft, name, key, site);
    const restarted = restartIfStale(draft, name, 'kube-apiserver', section);
    if (restarted) draft.gate({ kind: 'signs-with', host: name, service: 'kube-apiserver', key }, section);
    restartIfStale(draft, name, 'kube-controller-manager', section);
  }
  for (const name of site.hosts) unstage(draft, name, site);
  settle(draft);
};
