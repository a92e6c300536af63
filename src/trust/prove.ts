import { foldNames } from '../hosts/fold.js';
import { brokenEdges, edgeId, type BrokenEdge, type Credential } from './edges.js';
import { legacyTokensOf, tokensEnd } from './live.js';
import type { World } from './world.js';

/** One change as the proof sees it: what it is called, and what it makes of the world. */
export interface ProvenChange {
  readonly title: string;
  readonly model: (world: World) => World;
  /** The worlds that a crash in the middle of it could leave. */
  readonly partial?: (world: World) => readonly World[];
}

export interface Refusal {
  /** Index of the change that breaks the edge; the number of changes when it is the end state that is wrong. */
  readonly at: number;
  readonly change: string;
  readonly edges: readonly BrokenEdge[];
  readonly remedy: string;
  /** These edges were broken before the first change, and the plan does not mend them. */
  readonly fromStart: boolean;
  /** The edge breaks only if the change is cut off in its middle. */
  readonly midway: boolean;
}

export type Proof =
  | { readonly holds: true; readonly states: number; readonly mended: readonly BrokenEdge[] }
  | { readonly holds: false; readonly refusal: Refusal };

const keyOf = (credential: Credential): readonly string[] =>
  credential.kind === 'token-key' ? [credential.key] : [];

/** Until when tokens of the keys live, where the keys sign nothing any more. */
const lifeOf = (keys: readonly string[], world: World): string => {
  const records = keys.flatMap((key) => world.keys.get(key) ?? []);
  const [legacy] = keys.flatMap((key) => legacyTokensOf(world, key));
  const ends = records.flatMap((record) => tokensEnd(world, record) ?? []).sort((a, b) => +b - +a);
  const until =
    ends[0] && ends[0] > world.now
      ? ` Such tokens may live until ${ends[0].toISOString()} (${world.tokenLife.why}).`
      : '';
  return legacy
    ? `${until} The Secret ${legacy.namespace}/${legacy.name} holds such a token, which never expires: certroll run purge-sa-token-secrets.`
    : until;
};

const remedyFor = (edges: readonly BrokenEdge[], world: World): string => {
  const verifiers = foldNames(edges.map((edge) => edge.verifier)).join(', ');
  const keys = [...new Set(edges.flatMap((edge) => keyOf(edge.credential)))];
  const onDisk = edges.some((edge) => edge.where === 'disk');
  const [first] = edges;
  switch (first?.credential.kind) {
    case 'token-issuer':
      return `Keep ${first.credential.issuer} as a second --service-account-issuer of ${verifiers}, behind the new one, while its tokens live.`;
    case 'certificate':
      return onDisk
        ? `Add ${first.credential.authorities.join(', ')} to the trust bundle of ${verifiers} first, and keep it there while such certificates are presented.`
        : `Have ${verifiers} load a bundle with ${first.credential.authorities.join(', ')} (see that it has) before anyone presents such a certificate.`;
    case 'token-key':
    case undefined:
      return onDisk
        ? `Write the public key ${foldNames(keys).join(', ')} into the verification files of ${verifiers} first, and keep it there while tokens signed with it live.${lifeOf(keys, world)}`
        : `Restart ${verifiers} so that it loads ${foldNames(keys).join(', ')}, and wait until it is accepted, before anything signs with it.${lifeOf(keys, world)}`;
  }
};

const byId = (edges: readonly BrokenEdge[]): ReadonlyMap<string, BrokenEdge> =>
  new Map(edges.map((edge) => [edgeId(edge), edge]));

/** Edges that are broken in a world and were not before. */
export const freshlyBroken = (before: ReadonlyMap<string, unknown>, world: World): readonly BrokenEdge[] =>
  brokenEdges(world).filter((edge) => !before.has(edgeId(edge)));

/**
 * Plays the changes on the model. After each one, and in every state that a crash in its middle could leave, every edge
 * must hold both for what the processes have loaded and for what any of them would load if it crashed and restarted at
 * that moment. An edge that was broken at the start may stay broken for a while; once it holds it may not break again,
 * and at the end all must hold (but for what perhaps nobody presents any more).
 */
export const prove = (changes: readonly ProvenChange[], start: World): Proof => {
  const first = brokenEdges(start);
  let broken = byId(first);
  let world = start;
  let states = 1;
  const refuse = (at: number, edges: readonly BrokenEdge[], where: World, midway: boolean): Proof => ({
    holds: false,
    refusal: {
      at,
      change: changes[at]?.title ?? 'the end of the plan',
      edges,
      remedy: remedyFor(edges, where),
      fromStart: at === changes.length,
      midway,
    },
  });
  for (const [at, change] of changes.entries()) {
    for (const between of change.partial?.(world) ?? []) {
      states += 1;
      const fresh = freshlyBroken(broken, between);
      if (fresh.length > 0) return refuse(at, fresh, between, true);
    }
    world = change.model(world);
    states += 1;
    const fresh = freshlyBroken(broken, world);
    if (fresh.length > 0) return refuse(at, fresh, world, false);
    broken = byId(brokenEdges(world));
  }
  const left = [...broken.values()].filter(({ isDormant }) => isDormant !== true);
  if (left.length > 0) return refuse(changes.length, left, world, false);
  return { holds: true, states, mended: first };
};
