import { mkdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Machine } from './machine.js';
import { SA_FILES } from './settings.js';
import { run } from './shell.js';

/** What tests may change on a host: configuration, keys and certificates, units and their flags. */
const FOLDERS = ['/etc/kubernetes', '/etc/default', '/etc/haproxy', '/etc/cfssl', '/etc/systemd/system'];

/** Made anew with every fault, so not part of the original. */
const ALWAYS_NEW = Object.values(SA_FILES).map((path) => basename(path));

const copyOf = (machine: Machine, folder: string): string => join(machine.folder, 'pristine', folder);

const exists = (path: string): Promise<boolean> =>
  run(['test', '-e', path]).then(
    () => true,
    () => false,
  );

/** Keeps a copy of what the host was made with, outside of the host. */
export const savePristine = async (machine: Machine): Promise<void> => {
  for (const folder of FOLDERS) {
    if (!(await exists(join(machine.root, folder)))) continue;
    await mkdir(dirname(copyOf(machine, folder)), { recursive: true });
    await run(['cp', '--archive', join(machine.root, folder), copyOf(machine, folder)]);
  }
};

/** Paths that differ from the original, as diff tells them. */
const differences = async (machine: Machine, folder: string): Promise<string[]> => {
  const exclude = ALWAYS_NEW.map((name) => `--exclude=${name}`);
  const compare = ['--recursive', '--brief', '--no-dereference', ...exclude];
  const diff = ['diff', ...compare, copyOf(machine, folder), join(machine.root, folder)];
  // It ends with 1 when something differs, which is no failure here.
  const printed = await run(['sh', '-c', '"$@" || test $? -eq 1', 'sh', ...diff]);
  return printed === '' ? [] : printed.split('\n');
};

/** Puts the host's files back as they were made; returns what was different. Services that read them are to be restarted. */
export const restorePristine = async (machine: Machine): Promise<string[]> => {
  const all: string[] = [];
  for (const folder of FOLDERS) {
    if (!(await exists(copyOf(machine, folder)))) continue;
    const found = await differences(machine, folder);
    if (found.length === 0) continue;
    all.push(...found);
    await rm(join(machine.root, folder), { recursive: true });
    await run(['cp', '--archive', copyOf(machine, folder), join(machine.root, folder)]);
  }
  return all;
};
