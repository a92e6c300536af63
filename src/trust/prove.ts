import { brokenEdges, edgeId, type BrokenEdge } from './edges.js';
import type { World } from './world.js';

/** One change as the proof sees it: what it is called, and what it makes of the world. */
export interface ProvenChange {
  readonly title: string;
  readonly model: (world: World) => World;
}

export interface Refusal {
  /** Index of the change that breaks the edge; the number of changes when it is the end state that is wrong. */
  readonly at: number;
  readonly change: string;
  readonly edges: readonly BrokenEdge[];
  readonly remedy: string;
  /** These edges were broken before the first change, and the plan does not mend them. */
  readonly fromStart: boolean;
}

export type Proof =
  | { readonly holds: true; readonly states: number; readonly mended: readonly BrokenEdge[] }
  | { readonly holds: false; readonly refusal: Refusal };

const remedyFor = (edges: readonly BrokenEdge[]): string => {
  const verifiers = [...new Set(edges.map((edge) => edge.verifier))].join(', ');
  const keys = [...new Set(edges.map((edge) => edge.key))].join(', ');
  return edges.some((edge) => edge.where === 'disk')
    ? `Write the public key ${keys} into the verification files of ${verifiers} first, and keep it there while tokens signed with it live.`
    : `Restart ${verifiers} so that it loads ${keys}, and wait until it is accepted, before anything signs with it.`;
};

/**
 * Plays the changes on the model. After each one, every edge must hold both for what the processes have loaded and
 * for what any of them would load if it crashed and restarted at that moment. An edge that was broken at the start may
 * stay broken for a while; once it holds it may not break again, and at the end all must hold.
 */
export const prove = (changes: readonly ProvenChange[], start: World): Proof => {
  const first = brokenEdges(start);
  let broken = new Map(first.map((edge) => [edgeId(edge), edge]));
  let world = start;
  for (const [at, change] of changes.entries()) {
    world = change.model(world);
    const now = brokenEdges(world);
    const fresh = now.filter((edge) => !broken.has(edgeId(edge)));
    if (fresh.length > 0)
      return {
        holds: false,
        refusal: { at, change: change.title, edges: fresh, remedy: remedyFor(fresh), fromStart: false },
      };
    broken = new Map(now.map((edge) => [edgeId(edge), edge]));
  }
  const left = [...broken.values()];
  if (left.length > 0) {
    return {
      holds: false,
      refusal: {
        at: changes.length,
        change: 'the end of the plan',
        edges: left,
        remedy: remedyFor(left),
        fromStart: true,
      },
    };
  }
  return { holds: true, states: changes.length + 1, mended: first };
};
