import { Draft } from '../changes/plan.js';
import { CertrollError, EXIT } from '../core/errors.js';
import { findRun, pastRuns } from '../run/history.js';
import { rollBack } from '../steps/sa-keys/roll-back.js';
import { needsConsent, perform, stateDirOf, type PerformFlags } from './perform.js';

/** `certroll rollback RUN`; resolves to the exit status. */
export const rollBackRun = async (id: string, flags: PerformFlags): Promise<number> => {
  needsConsent(flags);
  return perform(flags, async (cluster) => {
    const stateDir = stateDirOf(flags);
    const run = findRun(await pastRuns(stateDir, cluster.name), id, stateDir);
    const { before } = run;
    if (!before) {
      throw new CertrollError(`run ${run.id} (${run.cookbook}) changed nothing that could be put back`, {
        code: 'rollback.nothing',
        exit: EXIT.usage,
        hint: `Its journal: ${run.path}`,
      });
    }
    return {
      name: `rollback ${run.id}`,
      inputs: { run: run.id },
      observes: { previous: true },
      makePlan: ({ world }, site) => {
        const draft = new Draft(world);
        rollBack(draft, before, site);
        return draft.finish(`rollback ${run.id}`);
      },
    };
  });
};
