import { partialWorlds } from '../changes/index.js';
import {
  describeEntry,
  gateRefusals,
  hostOfEntry,
  modelEntry,
  type Plan,
  type PlanEntry,
} from '../changes/plan.js';
import { CertrollError, EXIT } from '../core/errors.js';
import { prove, type ProvenChange, type Refusal } from '../trust/prove.js';
import type { World } from '../trust/world.js';
import { countBroken, tellEdges } from './tell-edges.js';

/** A plan as the proof takes it: what each entry, waits included, makes of the world, whole and cut off in its middle. */
export const provenPlan = (plan: Plan): readonly ProvenChange[] =>
  plan.entries.map((entry) => ({
    title: [hostOfEntry(entry), describeEntry(entry)].filter(Boolean).join(': '),
    model: (world) => modelEntry(entry, world),
    ...(entry.kind === 'change' && { partial: (world) => partialWorlds(entry.change, world) }),
  }));

/** The plan ends with something refused that was refused before it: not its doing, and not mended by it. */
const leftBroken = (edges: Refusal['edges']): CertrollError =>
  new CertrollError(
    [
      'refused: this plan does not mend what is broken now, before any change:',
      ...tellEdges(edges, 'now'),
    ].join('\n'),
    {
      code: 'proof.refused',
      exit: EXIT.refused,
      hint: 'Nothing was touched. certroll status names what is refused; certroll run rotate-sa-keys mends what is of signing keys.',
    },
  );

/** The change that is refused, by its number in the plan, and what it lets happen where that is not in its words. */
const tellChange = ({ change, at, midway }: Refusal, entry: PlanEntry | undefined): readonly string[] => {
  const told = `  change ${at + 1}: ${change}`;
  // Of records that are cut off in their middle each one is whole: to say so would only make the reader wonder.
  if (entry?.kind !== 'change' || entry.change.kind !== 'put-records')
    return [midway ? `${told}, cut off in its middle` : told];
  const promotes = entry.change.records.some(({ state }) => state === 'promoted');
  return promotes
    ? [told, '  with that the keys are allowed to sign, wherever the run may stop; then:']
    : [told];
};

const refusal = (refused: Refusal, plan: Plan): CertrollError => {
  const { at, edges, remedy, fromStart } = refused;
  if (fromStart) return leftBroken(edges);
  const entry = plan.entries[at];
  return new CertrollError(
    [
      `refused: at step '${entry?.step ?? refused.change}': ${countBroken(edges)}`,
      ...tellChange(refused, entry),
      ...tellEdges(edges, 'then'),
    ].join('\n'),
    {
      code: 'proof.refused',
      exit: EXIT.refused,
      hint: `Nothing was touched. ${remedy}`,
    },
  );
};

/** Proves the plan and its gates on the model. Throws `proof.refused` (exit 4), naming the edge, the change and the remedy. */
export const proveAll = (plan: Plan, world: World): void => {
  // A plan that changes nothing leaves nothing worse; what is broken is for status to tell.
  if (plan.entries.length === 0) return;
  const proof = prove(provenPlan(plan), world);
  if (!proof.holds) throw refusal(proof.refusal, plan);
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
