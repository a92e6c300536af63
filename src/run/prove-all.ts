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

const refusal = ({ edges, change, remedy }: Refusal): CertrollError => {
  const [first] = edges;
  const more = edges.length > 1 ? ` (and ${edges.length - 1} more such edges)` : '';
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
