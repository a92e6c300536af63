import { join } from 'node:path';
import { loadCluster } from '../cluster/load.js';
import { EXIT } from '../core/errors.js';
import { renderTable } from '../report/table.js';
import { pastRuns } from '../run/history.js';
import type { HistoryFlags } from './commands/history.js';
import { stateDirOf } from './perform.js';
import { print } from './session.js';

/** `certroll history`: what the journals on this bastion tell. */
export const showHistory = async (flags: HistoryFlags): Promise<number> => {
  const cluster = await loadCluster(flags.cluster);
  const runs = await pastRuns(stateDirOf(flags), cluster.name);
  if (flags.json === true) {
    print(JSON.stringify(runs));
    return EXIT.done;
  }
  if (runs.length === 0) {
    print(`No runs on ${cluster.name} in ${join(stateDirOf(flags), cluster.name)}.`);
    return EXIT.done;
  }
  const rows = runs.map(({ id, startedAt, cookbook, outcome, done, by, reason }) => [
    id,
    startedAt,
    cookbook,
    outcome,
    String(done),
    by,
    reason ?? '-',
  ]);
  print(renderTable([['RUN', 'STARTED', 'COOKBOOK', 'OUTCOME', 'DONE', 'BY', 'REASON'], ...rows]));
  return EXIT.done;
};
