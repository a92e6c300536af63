import { partialWorlds } from '../changes/index.js';
import { describeEntry, gateRefusals, hostOfEntry, modelEntry, type Plan } from '../changes/plan.js';
import { CertrollError, EXIT } from '../core/errors.js';
import { describeCredential } from '../trust/edges.js';
import { prove, type ProvenChange, type Refusal } from '../trust/prove.js';
import type { World } from '../trust/world.js';

/** A plan as the proof takes it: what each entry, waits included, makes of the world, whole and cut off in its middle. */
export const provenPlan = (plan: Plan): readonly ProvenChange[] =>
  plan.entries.map((entry) => ({
    title: [hostOfEntry(entry), describeEntry(entry)].filter(Boolean).join(': '),
    model: (world) => modelEntry(entry, world),
    ...(entry.kind === 'change' && { partial: (world) => partialWorlds(entry.change, world) }),
  }));

/** The plan ends with something refused that was refused before it: not its doing, and not mended by it. */
const leftBroken = (edges: Refusal['edges']): CertrollError => {
  const credentials = [...new Set(edges.map(({ credential }) => describeCredential(credential)))];
  const verifiers = [...new Set(edges.map(({ verifier }) => verifier))];
  return new CertrollError(
    `refused: ${credentials[0] ?? 'something'}${credentials.length > 1 ? ` (and ${credentials.length - 1} more such)` : ''} is refused, or would be after a restart, by ${verifiers.join(', ')} now, before any change, and this plan does not mend that`,
    {
      code: 'proof.refused',
      exit: EXIT.refused,
      hint: 'Nothing was touched. certroll status names what is refused; certroll run rotate-sa-keys mends what is of signing keys.',
    },
  );
};

const refusal = ({ edges, change, remedy, fromStart, midway }: Refusal): CertrollError => {
  if (fromStart) return leftBroken(edges);
  const [first] = edges;
  const more = edges.length > 1 ? ` (and ${edges.length - 1} more such pairs)` : '';
  const edge = first
    ? `${describeCredential(first.credential)}, presented by ${first.presenter}, would be refused by ${first.verifier}${first.where === 'disk' ? ' after its next restart' : ''}${more}`
    : 'an edge would break';
  return new CertrollError(`refused: at '${change}'${midway ? ', cut off in its middle,' : ''} ${edge}`, {
    code: 'proof.refused',
    exit: EXIT.refused,
    hint: `Nothing was touched. ${remedy}`,
  });
};

/** Proves the plan and its gates on the model. Throws `proof.refused` (exit 4), naming the edge, the change and the remedy. */
export const proveAll = (plan: Plan, world: World): void => {
  // A plan that changes nothing leaves nothing worse; what is broken is for status to tell.
  if (plan.entries.length === 0) return;
  const proof = prove(provenPlan(plan), world);
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
