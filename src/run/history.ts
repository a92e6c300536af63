import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { CertrollError, EXIT, messageOf } from '../core/errors.js';
import { KEY_STATES } from '../trust/world.js';
import type { Before } from '../steps/sa-keys/roll-back.js';

const line = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('run'),
    at: z.string(),
    cookbook: z.string(),
    by: z.string(),
    reason: z.string().optional(),
  }),
  z.object({
    type: z.literal('before'),
    signs: z.record(z.string(), z.string()),
    keys: z.record(z.string(), z.enum(KEY_STATES)),
  }),
  z.object({ type: z.literal('done'), at: z.string(), text: z.string() }),
  z.object({ type: z.literal('waiting'), error: z.string() }),
  z.object({ type: z.literal('end'), at: z.string(), outcome: z.string(), code: z.string().optional() }),
]);

/** What a journal tells of its run. */
export interface PastRun {
  readonly id: string;
  readonly path: string;
  readonly cookbook: string;
  readonly by: string;
  readonly reason: string | undefined;
  /** ISO 8601. */
  readonly startedAt: string;
  /** How it ended; `cut off` when it wrote no end, as after kill -9. */
  readonly outcome: string;
  /** When it can go on, ISO 8601, where it ended as waiting. */
  readonly waitsUntil: string | undefined;
  /** Entries that were carried out. */
  readonly done: number;
  /** Whether it put another key in the place of one that signs. */
  readonly changedSigners: boolean;
  /** What it found when it began; undefined when it came to no change. */
  readonly before: Before | undefined;
}

/** A line that was cut off in its middle, as by a full disk or a power loss, tells nothing. */
const parseLine = (text: string): z.output<typeof line> | undefined => {
  try {
    return line.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
};

const read = async (path: string, id: string): Promise<PastRun | undefined> => {
  const lines = (await readFile(path, 'utf8')).split('\n').flatMap((text) => parseLine(text) ?? []);
  const run = lines.find((each) => each.type === 'run');
  if (!run) return undefined;
  const end = lines.find((each) => each.type === 'end');
  const done = lines.filter((each) => each.type === 'done');
  const before = lines.find((each) => each.type === 'before');
  const waiting = lines.find((each) => each.type === 'waiting');
  return {
    id,
    path,
    cookbook: run.cookbook,
    by: run.by,
    reason: run.reason,
    startedAt: run.at,
    outcome: end ? [end.outcome, end.code].filter(Boolean).join(': ') : 'cut off',
    waitsUntil: /^waiting until (\S+Z)/.exec(waiting?.error ?? '')?.[1],
    done: done.length,
    changedSigners: done.some(({ text }) => /^(install|put) \//.test(text)),
    before: before && { signs: before.signs, keys: before.keys },
  };
};

/** The runs on a cluster that were made from this bastion, newest first. Throws `journal.unreadable`. */
export const pastRuns = async (stateDir: string, cluster: string): Promise<readonly PastRun[]> => {
  const folder = join(stateDir, cluster);
  try {
    const names = await readdir(folder).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    });
    const journals = names
      .filter((name) => name.endsWith('.jsonl'))
      .sort()
      .reverse();
    const runs = await Promise.all(
      journals.map((name) => read(join(folder, name), name.slice(0, -'.jsonl'.length))),
    );
    return runs.filter((run) => run !== undefined);
  } catch (cause) {
    throw new CertrollError(`cannot read the journals in ${folder}: ${messageOf(cause)}`, {
      code: 'journal.unreadable',
      hint: 'Give the folder of the user who made the runs with --state-dir.',
      cause,
    });
  }
};

/** The run of that id, of a beginning of it that only one has, or `last`: the last that changed who signs. Throws `history.unknown` (exit 2). */
export const findRun = (runs: readonly PastRun[], id: string, where: string): PastRun => {
  const found =
    id === 'last'
      ? runs.filter(({ changedSigners }) => changedSigners).slice(0, 1)
      : runs.filter((run) => run.id.startsWith(id));
  const [only, another] = found;
  if (only && !another) return only;
  throw new CertrollError(another ? `several runs begin with '${id}'` : `no run '${id}' in ${where}`, {
    code: 'history.unknown',
    exit: EXIT.usage,
    hint: 'certroll history lists the runs that were made from this bastion; --state-dir names another folder.',
  });
};
