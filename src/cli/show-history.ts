import { join } from 'node:path';
import { loadCluster } from '../cluster/load.js';
import { EXIT } from '../core/errors.js';
import { renderTable } from '../report/table.js';
import { pastRuns, type PastRun } from '../run/history.js';
import type { HistoryFlags } from './commands/history.js';
import { stateDirOf } from './perform.js';
import { print } from './session.js';

/** How a run ended; of one that waits, until when is what is asked for. */
const outcomeOf = ({ outcome, waitsUntil }: PastRun): string =>
  waitsUntil === undefined ? outcome : `waiting until ${waitsUntil.replace(/\.\d+Z$/, 'Z')}`;

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
  const rows = runs.map((run) => [
    run.id,
    run.startedAt,
    run.cookbook,
    outcomeOf(run),
    String(run.done),
    run.by,
    run.reason ?? '-',
  ]);
  print(renderTable([['RUN', 'STARTED', 'COOKBOOK', 'OUTCOME', 'DONE', 'BY', 'REASON'], ...rows]));
  return EXIT.done;
};
