import { readFile } from 'node:fs/promises';
import { run } from './shell.js';

/** Trees that make one, the uppermost of `lowers` first. What is written goes to `upper`. */
export interface OverlayTrees {
  readonly lowers: readonly string[];
  readonly upper: string;
  /** An empty folder on the file system of `upper`. */
  readonly work: string;
}

export const mountOverlay = async (target: string, { lowers, upper, work }: OverlayTrees): Promise<void> => {
  const options = `lowerdir=${lowers.join(':')},upperdir=${upper},workdir=${work}`;
  await run(['mount', '-t', 'overlay', 'overlay', '-o', options, target]);
};

export const isMounted = async (target: string): Promise<boolean> => {
  const mounts = await readFile('/proc/self/mounts', 'utf8');
  return mounts.split('\n').some((line) => line.split(' ')[1] === target);
};

/** Unmounts all that is mounted there: more than one when a lab that crashed was mounted over. */
export const unmount = async (target: string): Promise<void> => {
  while (await isMounted(target)) await run(['umount', target]);
};
