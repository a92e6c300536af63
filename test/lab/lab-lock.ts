import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pid } from 'node:process';
import { findProcesses } from './processes.js';
import { say } from './shell.js';
import type { Topology } from './topology.js';
import { until } from './wait.js';

const tryLock = async (file: string): Promise<boolean> => {
  try {
    await writeFile(file, String(pid), { flag: 'wx' });
    return true;
  } catch {
    const holder = (await readFile(file, 'utf8').catch(() => '')).trim();
    // Left by a process that is gone. An empty file is being written just now.
    if (holder !== '' && !existsSync(`/proc/${holder}`)) await rm(file, { force: true });
    return false;
  }
};

/** One at a time makes, repairs, resets or removes the lab in that folder; others wait for it. */
export const withLabLock = async <T>(dir: string, what: string, action: () => Promise<T>): Promise<T> => {
  await mkdir(dir, { recursive: true, mode: 0o755 });
  const file = join(dir, 'lock');
  if (!(await tryLock(file))) {
    say(`another process works on the lab; waiting for it (${what})`);
    await until(`the lock ${file} is free`, 1800, () => tryLock(file), 500);
  }
  try {
    return await action();
  } finally {
    await rm(file, { force: true });
  }
};

/** Throws when a lab of that network runs from another folder. */
export const refuseSecondLab = async ({ dir, network }: Topology): Promise<void> => {
  const others = await findProcesses(
    (argv) =>
      argv[0] === 'systemd-nspawn' &&
      argv.includes(`--network-bridge=${network.bridge}`) &&
      !argv.some((argument) => argument.startsWith(`--directory=${dir}/`)),
  );
  if (others.length > 0)
    throw new Error(`Another lab, in another folder, is up (pid ${others.join(', ')}): take it down first`);
};
