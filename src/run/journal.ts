import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CertrollError, messageOf } from '../core/errors.js';

/** One line of a journal. Never holds a secret: a change knows keys by kid only. */
export interface JournalLine {
  readonly type: 'run' | 'before' | 'plan' | 'start' | 'done' | 'failed' | 'bind' | 'end';
  readonly [field: string]: unknown;
}

/** What a run did, line by line, on the bastion: written before and after each change, each line synced to disk. */
export interface Journal {
  readonly path: string;
  write(line: JournalLine): Promise<void>;
  close(): Promise<void>;
}

const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};

const append = async (file: FileHandle, line: JournalLine, now: Date): Promise<void> => {
  await file.appendFile(`${JSON.stringify({ at: now.toISOString(), ...line })}\n`);
  await file.sync();
};

/** Begins the journal of a run: STATE/CLUSTER/RUN.jsonl, readable by its owner only. Throws `journal.unwritable`. */
export const openJournal = async (
  stateDir: string,
  cluster: string,
  run: string,
  now: () => Date,
): Promise<Journal> => {
  const path = join(stateDir, cluster, `${run}.jsonl`);
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const file = await open(path, 'ax', 0o600);
    await syncFolder(dirname(path));
    return {
      path,
      write: async (line) => append(file, line, now()),
      close: async () => file.close(),
    };
  } catch (cause) {
    throw new CertrollError(`cannot write the journal ${path}: ${messageOf(cause)}`, {
      code: 'journal.unwritable',
      hint: 'Nothing was changed: a run without a journal is refused. Choose another folder with --state-dir.',
      cause,
    });
  }
};
