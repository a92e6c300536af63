import { z } from 'zod';
import type { Draft } from '../../changes/plan.js';
import { hostOf, processId, type ProcessId, type World } from '../../trust/world.js';
import { refuse } from '../refuse.js';
import type { Site, Step } from '../step.js';
import { layoutOf, requireSoundFiles } from './layout.js';
import { nextKeys, rotationId, type NextKey } from './next-key.js';

/** The processes of a host that sign with its signing file. */
const signersOn = (world: World, name: string): readonly ProcessId[] =>
  [...hostOf(world, name).services.values()]
    .filter((service) => service.signingFile !== undefined)
    .map((service) => processId(service.service, name));

/** The processes that will sign with a key: those of its host; in shared mode those of all hosts. */
export const signersOf = (world: World, next: NextKey, site: Site): readonly ProcessId[] =>
  (site.mode === 'shared' ? site.hosts : [next.host]).flatMap((name) => signersOn(world, name));

/** Brings the next key beside the live one: generated there, or (shared mode) copied from the host that has it. */
const stageKey = (draft: Draft, next: NextKey, site: Site): void => {
  const layout = layoutOf(hostOf(draft.world, next.host), site);
  const source =
    site.mode === 'shared'
      ? nextKeys(draft.world, site).find((other) => other.where !== 'nowhere')
      : undefined;
  if (source) {
    const from = layoutOf(hostOf(draft.world, source.host), site);
    const path = source.where === 'live' ? from.signingFile : from.stagedKey;
    draft.change({
      kind: 'write-file',
      host: next.host,
      path: layout.stagedKey,
      content: { type: 'signing-key', key: next.key, from: { host: source.host, path } },
      like: layout.signingFile,
    });
    return;
  }
  draft.change({
    kind: 'generate-key',
    host: next.host,
    path: layout.stagedKey,
    algorithm: site.algorithm,
    key: next.key,
    like: layout.signingFile,
  });
};

/** Certifies the staged key unless a certificate of that very key is staged by now. */
const certify = (draft: Draft, next: NextKey, site: Site): void => {
  const host = hostOf(draft.world, next.host);
  const { stagedCertificate, stagedKey, signingFile } = layoutOf(host, site);
  if (stagedCertificate === undefined || host.files.get(stagedCertificate)?.certificate?.key === next.key)
    return;
  draft.change({
    kind: 'write-file',
    host: next.host,
    path: stagedCertificate,
    content: { type: 'certificate', key: next.key, keyPath: stagedKey },
    like: signingFile,
  });
};

/** Opens the rotation and stages a new key on each host, found again if an earlier run was stopped. */
export const issue: Step<Record<string, never>> = {
  summary: 'Generate the next signing key beside the live one, on every control plane, and have it certified',
  withSchema: z.strictObject({}),
  outputs: ['keys'],

  plan(draft, _given, site) {
    for (const name of site.hosts) {
      const host = hostOf(draft.world, name);
      requireSoundFiles(host);
      const { stagedKey } = layoutOf(host, site);
      if (host.files.has(stagedKey) && host.files.get(stagedKey)?.signingKey === undefined) {
        throw refuse(
          name,
          `${stagedKey} is not a private key that can be read`,
          'It was left by something else than a finished certroll step; remove it, then run again.',
        );
      }
    }
    const rotation = rotationId(draft.world, site);
    if (draft.world.rotation?.state !== 'open') {
      draft.change({ kind: 'put-records', records: [], rotation: { id: rotation, state: 'open' } });
    }
    for (const next of nextKeys(draft.world, site)) {
      if (next.where === 'nowhere') stageKey(draft, next, site);
      if (next.where !== 'live') certify(draft, next, site);
      if (draft.world.keys.get(next.key)?.rotation !== rotation) {
        draft.change({
          kind: 'put-records',
          records: [
            { key: next.key, state: 'issued', signers: signersOf(draft.world, next, site), rotation },
          ],
        });
      }
    }
    return { keys: new Set(nextKeys(draft.world, site).map((next) => next.key)).size };
  },
};
