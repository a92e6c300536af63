import { describeChange, hostOfChange, modelChange } from '../changes/index.js';
import { changesOf, describeEntry, gateRefusals, type Plan } from '../changes/plan.js';
import { CertrollError, EXIT } from '../core/errors.js';
import { prove, type ProvenChange, type Refusal } from '../trust/prove.js';
import type { World } from '../trust/world.js';

const proven = (plan: Plan): readonly ProvenChange[] =>
  changesOf(plan).map((change) => ({
    title: [hostOfChange(change), describeChange(change)].filter(Boolean).join(': '),
    model: (world) => modelChange(change, world),
  }));

/** The plan ends with tokens refused that were refused before it: not its doing, and not mended by it. */
const leftBroken = (edges: Refusal['edges']): CertrollError => {
  const keys = new Set(edges.map(({ key }) => key)).size;
  return new CertrollError(
    `refused: tokens of ${keys} ${keys === 1 ? 'key' : 'keys'} are refused by some apiservers now, before any change, and this plan does not mend that`,
    {
      code: 'proof.refused',
      exit: EXIT.refused,
      hint: 'Nothing was touched. certroll status names the keys; certroll run rotate-sa-keys mends it.',
    },
  );
};

const refusal = ({ edges, change, remedy, fromStart }: Refusal): CertrollError => {
  if (fromStart) return leftBroken(edges);
  const [first] = edges;
  const more = edges.length > 1 ? ` (and ${edges.length - 1} more such pairs)` : '';
  const edge = first
    ? `a token of ${first.presenter} signed with '${first.key}' would be refused by ${first.verifier}${first.where === 'disk' ? ' after its next restart' : ''}${more}`
    : 'an edge would break';
  return new CertrollError(`refused: at '${change}' ${edge}`, {
    code: 'proof.refused',
    exit: EXIT.refused,
    hint: `Nothing was touched. ${remedy}`,
  });
};

/** Proves the plan and its gates on the model. Throws `proof.refused` (exit 4), naming the edge, the change and the remedy. */
export const proveAll = (plan: Plan, world: World): void => {
  // A plan that changes nothing leaves nothing worse; what is broken is for status to tell.
  if (plan.entries.length === 0) return;
  const proof = prove(proven(plan), world);
  if (!proof.holds) throw refusal(proof.refusal);
  const [gate] = gateRefusals(plan.entries, world);
  if (gate) {
    throw new CertrollError(
      `refused: the gate '${describeEntry(gate)}' (step ${gate.step}) would not hold when the run comes to it`,
      {
        code: 'proof.refused',
        exit: EXIT.refused,
        hint: 'Nothing was touched. Publish the keys and restart the apiservers to load them in steps before this gate.',
      },
    );
  }
};
