import { KUBEADM } from './kubeadm/settings.js';
import { SYSTEMD } from './settings.js';
import type { Topology } from './topology.js';

const ALL: readonly Topology[] = [SYSTEMD, KUBEADM];

export const FLAVOURS = ALL.map(({ flavour }) => flavour);

/** The lab of that flavour. Throws for one that there is not. */
export const topologyOf = (flavour: string): Topology => {
  const found = ALL.find((each) => each.flavour === flavour);
  if (found) return found;
  throw new Error(`There is no flavour '${flavour}' of the lab. There are: ${FLAVOURS.join(', ')}`);
};
