import { access } from 'node:fs/promises';
import { run } from './shell.js';
import type { Network } from './topology.js';
import { until } from './wait.js';

const exists = (link: string): Promise<boolean> =>
  access(`/sys/class/net/${link}`).then(
    () => true,
    () => false,
  );

/** Makes a lab's bridge, with an address for this machine: the bastion's. */
export const createBridge = async ({ bridge, gateway, prefix }: Network): Promise<void> => {
  if (!(await exists(bridge))) await run(['ip', 'link', 'add', bridge, 'type', 'bridge']);
  await run(['ip', 'address', 'replace', `${gateway}/${prefix}`, 'dev', bridge]);
  await run(['ip', 'link', 'set', bridge, 'up']);
};

export const deleteBridge = async ({ bridge }: Network): Promise<void> => {
  if (await exists(bridge)) await run(['ip', 'link', 'delete', bridge]);
};

/** This machine's end of a host's network pair, as nspawn names it. */
const pairOf = (machine: string): string => `vb-${machine}`;

/** Removes the pair of a machine that ended without doing so itself: its name must be free at the next start. */
export const removeCable = async (machine: string): Promise<void> => {
  // It may just be going by itself, together with the machine's own network.
  await until(`the cable of ${machine} is gone`, 10, async () => {
    if (await exists(pairOf(machine))) await run(['ip', 'link', 'delete', pairOf(machine)]);
    return !(await exists(pairOf(machine)));
  });
};

/** Pulls (or puts back) the network cable of a machine. */
export const setCable = async (machine: string, state: 'up' | 'down'): Promise<void> => {
  await run(['ip', 'link', 'set', pairOf(machine), state]);
};

/** True when the cable is in. Read from the flags: the state of the carrier comes later. */
export const cableIn = async (machine: string): Promise<boolean> => {
  const text = await run(['ip', '-j', 'link', 'show', pairOf(machine)]);
  const [link] = JSON.parse(text) as { flags?: string[] }[];
  return link?.flags?.includes('UP') ?? false;
};
