import { describeEntry, hostOfEntry, type PlanEntry } from '../changes/plan.js';

/** A plan entry as it is shown, journaled and printed as JSON: the same in a dry run and in the run that follows it. */
export interface EntryJson {
  readonly id: string;
  readonly step: string;
  readonly kind: 'change' | 'gate';
  readonly host?: string;
  readonly text: string;
}

export const entryJson = (entry: PlanEntry): EntryJson => {
  const host = hostOfEntry(entry);
  return {
    id: entry.id,
    step: entry.step,
    kind: entry.kind,
    ...(host === undefined ? {} : { host }),
    text: describeEntry(entry),
  };
};
