import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pid } from 'node:process';
import { LAB_DIR } from './settings.js';
import { say } from './shell.js';
import { until } from './wait.js';

const FILE = join(LAB_DIR, 'lock');

const tryLock = async (): Promise<boolean> => {
  try {
    await writeFile(FILE, String(pid), { flag: 'wx' });
    return true;
  } catch {
    const holder = (await readFile(FILE, 'utf8').catch(() => '')).trim();
    // Left by a process that is gone. An empty file is being written just now.
    if (holder !== '' && !existsSync(`/proc/${holder}`)) await rm(FILE, { force: true });
    return false;
  }
};

/** One at a time makes, repairs, resets or removes the lab; others wait for it. */
export const withLabLock = async <T>(what: string, action: () => Promise<T>): Promise<T> => {
  await mkdir(LAB_DIR, { recursive: true, mode: 0o755 });
  if (!(await tryLock())) {
    say(`another process works on the lab; waiting for it (${what})`);
    await until(`the lock ${FILE} is free`, 1800, tryLock, 500);
  }
  try {
    return await action();
  } finally {
    await rm(FILE, { force: true });
  }
};
