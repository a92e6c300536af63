import { z } from 'zod';
import type { Draft } from '../../changes/plan.js';
import { formatDuration } from '../../core/duration.js';
import { legacyTokensOf, tokensEnd } from '../../trust/live.js';
import type { KeyRecord, World } from '../../trust/world.js';
import { refuse } from '../refuse.js';
import type { Step } from '../step.js';
import { recordOf, signingNow } from './publish.js';

const withSchema = z.strictObject({
  wait: z
    .boolean()
    .default(false)
    .describe('Also keys whose tokens still live: the run ends as waiting (exit 7), a later one goes on'),
});

/** Why a key cannot be retired, whatever time passes; undefined when nothing stands against it. */
const obstacle = (world: World, record: KeyRecord): string | undefined => {
  const legacy = legacyTokensOf(world, record.key);
  const [first] = legacy;
  if (first) {
    const more = legacy.length > 1 ? ` and ${legacy.length - 1} more` : '';
    return `the token Secret ${first.namespace}/${first.name}${more} is signed with it and never expires; certroll run purge-sa-token-secrets`;
  }
  if (world.tokenLife.shortened !== true) return undefined;
  const [host, count] = [...(world.staleTokens ?? [])].find(([, stale]) => stale > 0) ?? [];
  return host === undefined
    ? undefined
    : `${host} got ${count ?? 0} tokens since it started that should have been refreshed, so some clients use theirs longer than serviceAccounts.soak says; restart-apiservers counts anew`;
};

const tell = (draft: Draft, key: string, text: string, severity: 'info' | 'warning'): void =>
  draft.finding({ severity, host: undefined, text: `key ${key} stays trusted: ${text}` });

/** Takes old keys off the record of trusted ones, once no token that they signed can still live. */
export const retire: Step<z.output<typeof withSchema>> = {
  summary: 'Retire old keys once no token signed with them can still live; the next publish leaves them out',
  withSchema,
  outputs: ['retired', 'soaking'],
  observes: ['legacy-tokens'],

  plan(draft, given) {
    const signing = signingNow(draft.world);
    // One that signs again, by somebody's hand, soaks only on record.
    const soaking = [...draft.world.keys.values()].filter(
      ({ key, state }) => state === 'soaking' && !signing.has(key),
    );
    if (soaking.length > 0 && draft.world.legacyTokens === undefined) {
      throw refuse(
        draft.world.cluster,
        'the token Secrets could not be looked at, so nobody knows which keys signed one',
        'Let the kubeconfig of the cluster file list Secrets and pods; then run again.',
      );
    }
    if (draft.world.tokenLife.shortened === true && soaking.length > 0) {
      draft.finding({
        severity: 'warning',
        host: undefined,
        text: `serviceAccounts.soak (${formatDuration(draft.world.tokenLife.maxMs)}) is shorter than the life of tokens that the running flags allow: it is taken at its word`,
      });
    }
    const done: KeyRecord[] = [];
    const waiting: KeyRecord[] = [];
    for (const record of soaking) {
      const why = obstacle(draft.world, record);
      const left = Number(tokensEnd(draft.world, record)) - draft.world.now.getTime();
      if (why !== undefined) tell(draft, record.key, why, 'warning');
      else if (left <= 0) done.push(record);
      else if (given.wait) waiting.push(record);
      else
        tell(
          draft,
          record.key,
          `its tokens live for up to ${formatDuration(left)} (${draft.world.tokenLife.why})`,
          'info',
        );
    }
    const retireNow = (records: readonly KeyRecord[]): void => {
      if (records.length === 0) return;
      draft.change({
        kind: 'put-records',
        records: records.flatMap(({ key }) =>
          recordOf(draft.world, key, 'retired').map((record) => ({
            ...record,
            lifeMs: draft.world.tokenLife.maxMs,
          })),
        ),
      });
    };
    retireNow(done);
    if (waiting.length > 0) {
      draft.gate({
        kind: 'waited',
        keys: waiting.map(({ key }) => key),
        from: 'last-signed',
        ms: draft.world.tokenLife.maxMs,
        why: `a token may live that long (${draft.world.tokenLife.why})`,
      });
      retireNow(waiting);
    }
    const retired = done.length + waiting.length;
    return { retired, soaking: soaking.length - retired };
  },
};
