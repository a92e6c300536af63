import { groupBy } from '../core/group.js';
import { foldNames } from '../hosts/fold.js';
import { describeCredential, type BrokenEdge } from '../trust/edges.js';

/** Lines that are told; what is broken beyond them is counted. */
const MOST_LINES = 10;

/** What a verifier does with one credential. An edge that is broken now is broken after a restart as well, or mended by it. */
interface Pair {
  readonly what: string;
  readonly presenter: string;
  readonly verifier: string;
  readonly isNow: boolean;
}

const pairsOf = (edges: readonly BrokenEdge[]): readonly Pair[] =>
  groupBy(edges, (edge) =>
    JSON.stringify([describeCredential(edge.credential), edge.presenter, edge.verifier]),
  ).flatMap((both) => {
    const [first] = both;
    if (!first) return [];
    const { presenter, verifier } = first;
    const isNow = both.some(({ where }) => where === 'loaded');
    return [{ what: describeCredential(first.credential), presenter, verifier, isNow }];
  });

/** What breaks, in a few words: `a token would be refused`, and in how many pairs of who presents and who verifies it. */
export const countBroken = (edges: readonly BrokenEdge[]): string => {
  const what = edges.every(({ credential }) => credential.kind === 'certificate') ? 'certificate' : 'token';
  const pairs = pairsOf(edges).length;
  return pairs > 1 ? `${what}s would be refused, in ${pairs} pairs` : `a ${what} would be refused`;
};

/**
 * Broken edges for people, one line for all that the same verifiers refuse, names folded: with a key a host, each pair by
 * itself would be a page. `when` tells edges that are broken now from those that a plan would break then.
 */
export const tellEdges = (edges: readonly BrokenEdge[], when: 'now' | 'then'): readonly string[] => {
  const credentials = groupBy(pairsOf(edges), ({ what }) => what).flatMap((pairs) =>
    [true, false].flatMap((isNow) => {
      const those = pairs.filter((pair) => pair.isNow === isNow);
      return those.length > 0
        ? [{ pairs: those, isNow, by: [...new Set(those.map((p) => p.verifier))] }]
        : [];
    }),
  );
  const lines = groupBy(credentials, ({ isNow, by }) => JSON.stringify([isNow, by])).flatMap((alike) => {
    const [first] = alike;
    if (!first) return [];
    const pairs = alike.flatMap((each) => each.pairs);
    const whose = first.by.length > 1 ? 'their' : 'its';
    const verb = first.isNow && when === 'now' ? 'is refused' : 'would be refused';
    const restart = first.isNow ? '' : ` after ${whose} next restart`;
    const what = foldNames(pairs.map((pair) => pair.what)).join(' or ');
    const presenters = foldNames(pairs.map(({ presenter }) => presenter)).join(', ');
    return [`  ${what}, presented by ${presenters}, ${verb} by ${foldNames(first.by).join(', ')}${restart}`];
  });
  const more = lines.length - MOST_LINES;
  return more > 1 ? [...lines.slice(0, MOST_LINES), `  and ${more} more such lines`] : lines;
};
