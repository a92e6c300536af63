import { z } from 'zod';
import type { Draft, Finding } from '../../changes/plan.js';
import { CertrollError, EXIT } from '../../core/errors.js';
import { onDisk, processId, type KeyRef, type LegacyToken, type World } from '../../trust/world.js';
import { refuse } from '../refuse.js';
import type { Step } from '../step.js';

const withSchema = z.strictObject({
  mounted: z
    .enum(['keep', 'delete'])
    .default('keep')
    .describe(
      'Whether Secrets that pods still use are kept, or deleted too: those pods then lose their access',
    ),
});

/** What every process signs with, live and after a restart. Refuses when one of them may sign with a key that was not seen. */
const seenSigning = (world: World): Set<KeyRef> => {
  const keys = new Set<KeyRef>();
  for (const host of world.hosts.values()) {
    for (const service of host.services.values()) {
      const { signs } = service.loaded;
      if (signs === undefined && service.signingFile !== undefined) {
        throw refuse(
          host.name,
          `it is not known what its ${service.service} signs with: ${service.signingFile} has changed since it started`,
          'Its tokens must not be taken for old ones. certroll run rotate-sa-keys restarts it, or restart it by hand; then run again.',
        );
      }
      for (const key of [signs, onDisk(host, service).signs]) if (key !== undefined) keys.add(key);
    }
  }
  return keys;
};

/**
 * Keys whose tokens are left alone: what is seen to sign; what by the registry a process signs with that is not seen running,
 * since it may come back; and the same keys under other names, since an external signer names its keys as it likes.
 */
const signingKeys = (world: World): ReadonlySet<KeyRef> => {
  const keys = seenSigning(world);
  const running = new Set(
    [...world.hosts.values()].flatMap((host) =>
      [...host.services.keys()].map((service) => processId(service, host.name)),
    ),
  );
  for (const { key, state, signers } of world.keys.values()) {
    const isOver = state === 'soaking' || state === 'retired';
    if (!isOver && signers.some((signer) => !running.has(signer))) keys.add(key);
  }
  const pems = new Set([...keys].flatMap((key) => world.publicKeys.get(key) ?? []));
  for (const [key, pem] of world.publicKeys) if (pems.has(pem)) keys.add(key);
  return keys;
};

const MAX_PODS = 5;

const podsOf = ({ pods }: LegacyToken): string => {
  const more = pods.length > MAX_PODS ? ` and ${pods.length - MAX_PODS} more` : '';
  return `${pods.length === 1 ? 'pod' : 'pods'} ${pods.slice(0, MAX_PODS).join(', ')}${more}`;
};

const describe = ({ namespace, name, serviceAccount, kid, lastUsed }: LegacyToken): string =>
  [
    `token Secret ${namespace}/${name} (service account ${serviceAccount ?? 'unknown'}`,
    ...(kid === undefined ? [] : [`kid ${kid}`]),
    `${lastUsed === undefined ? 'no use on record' : `last used ${lastUsed}`})`,
  ].join(', ');

const tell = (draft: Draft, severity: Finding['severity'], text: string): void =>
  draft.finding({ severity, host: undefined, text });

const tellUnverified = (draft: Draft, token: LegacyToken): void =>
  tell(
    draft,
    'warning',
    `${describe(token)} is kept: no key that is known verifies what is in it. See who made it; if no apiserver accepts its token, delete it by hand`,
  );

const tellMounted = (draft: Draft, token: LegacyToken): void =>
  tell(
    draft,
    'warning',
    `${describe(token)} is kept: in namespace ${token.namespace}, ${podsOf(token)} still ${token.pods.length === 1 ? 'uses' : 'use'} it. Give them a projected token (the default of a pod without this Secret) and run again, or delete it all the same with mounted=delete`,
  );

const remove = (draft: Draft, token: LegacyToken, kid: KeyRef): void => {
  const { namespace, name, uid, resourceVersion, serviceAccount, pods } = token;
  const who = pods.length === 0 ? 'whoever' : `${podsOf(token)} and whoever else`;
  tell(
    draft,
    pods.length === 0 ? 'info' : 'warning',
    `${describe(token)} is to be deleted: ${who} holds its token, in memory too, is refused from then on`,
  );
  draft.change({ kind: 'delete-secret', namespace, name, uid, resourceVersion, serviceAccount, kid });
};

/** Deletes the token Secrets that were signed with a key nothing signs with any more, told by their signatures. */
export const purgeTokenSecrets: Step<z.output<typeof withSchema>> = {
  summary:
    'Delete the token Secrets that a key signed which signs nothing any more. Their tokens are refused from then on: also a pod that read one into memory loses its access',
  withSchema,
  outputs: ['deleted', 'kept'],
  observes: ['legacy-tokens'],

  plan(draft, given) {
    const tokens = draft.world.legacyTokens;
    if (!tokens) {
      throw new CertrollError('the token Secrets of the cluster were not looked at', {
        code: 'plan.refused',
        exit: EXIT.refused,
        hint: 'A defect: whoever runs this step must observe them. Nothing was touched.',
      });
    }
    const signing = signingKeys(draft.world);
    let deleted = 0;
    let kept = 0;
    for (const token of tokens) {
      if (token.kid !== undefined && signing.has(token.kid)) continue;
      if (token.kid !== undefined && (token.pods.length === 0 || given.mounted === 'delete')) {
        remove(draft, token, token.kid);
        deleted += 1;
        continue;
      }
      if (token.kid === undefined) tellUnverified(draft, token);
      else tellMounted(draft, token);
      kept += 1;
    }
    return { deleted, kept };
  },
};
