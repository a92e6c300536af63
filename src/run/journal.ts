import { mkdir, open, rm, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CertrollError, messageOf } from '../core/errors.js';

/** One line of a journal. Never holds a secret: a change knows keys by kid only. */
export interface JournalLine {
  readonly type: 'run' | 'before' | 'plan' | 'start' | 'done' | 'failed' | 'waiting' | 'bind' | 'end';
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

/** Makes a folder and those above it. Node's own recursive mode never returns where a level cannot be made, as below /proc. */
const makeFolder = async (path: string): Promise<void> => {
  const make = async (): Promise<void> => {
    await mkdir(path, { mode: 0o700 }).catch((thrown: unknown) => {
      if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
    });
  };
  try {
    await make();
  } catch (thrown) {
    const parent = dirname(path);
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT' || parent === path) throw thrown;
    await makeFolder(parent);
    await make();
  }
};

const unwritable = (path: string, cause: unknown): CertrollError =>
  new CertrollError(`cannot write the journal ${path}: ${messageOf(cause)}`, {
    code: 'journal.unwritable',
    hint: 'Nothing was changed: a run without a journal is refused. Choose another folder with --state-dir.',
    cause,
  });

/** Sees that a run can have its journal, before anyone waits for what comes ahead of it. Throws `journal.unwritable`. */
export const checkJournal = async (stateDir: string, cluster: string, run: string): Promise<void> => {
  const path = join(stateDir, cluster, `${run}.jsonl`);
  const trial = `${path}.trial`;
  try {
    await makeFolder(dirname(path));
    // Permissions do not tell of a full or read-only disk: what can be written is found out by writing.
    const file = await open(trial, 'wx', 0o600);
    try {
      await append(file, { type: 'run' }, new Date());
    } finally {
      await file.close();
      await rm(trial);
    }
  } catch (cause) {
    throw unwritable(path, cause);
  }
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
    await makeFolder(dirname(path));
    const file = await open(path, 'ax', 0o600);
    await syncFolder(dirname(path));
    return {
      path,
      write: async (line) => append(file, line, now()),
      close: async () => file.close(),
    };
  } catch (cause) {
    throw unwritable(path, cause);
  }
};
