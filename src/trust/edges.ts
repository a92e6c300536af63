import { onDisk, processId, type KeyRef, type ProcessId, type World } from './world.js';

/** One thing that may be presented to one verifier: a token of `presenter` signed with `key`, shown to `verifier`. */
export interface Edge {
  readonly presenter: ProcessId;
  readonly verifier: ProcessId;
  readonly key: KeyRef;
}

/** An edge that does not hold, and whether that is so now (loaded) or only after the next restart (disk). */
export interface BrokenEdge extends Edge {
  readonly where: 'loaded' | 'disk';
}

/**
 * Every key that tokens of a process may carry: what it signs with now, what it would sign with after a restart
 * (a process can crash at any moment), and what it signed with before and was not retired since.
 */
const presented = (world: World): ReadonlyMap<ProcessId, ReadonlySet<KeyRef>> => {
  const keys = new Map<ProcessId, Set<KeyRef>>();
  for (const host of world.hosts.values()) {
    for (const service of host.services.values()) {
      if (service.signingFile === undefined) continue;
      const found = new Set<KeyRef>();
      for (const key of [service.loaded.signs, onDisk(host, service).signs])
        if (key !== undefined) found.add(key);
      keys.set(processId(service.service, host.name), found);
    }
  }
  for (const record of world.keys.values()) {
    if (record.state !== 'promoted' && record.state !== 'soaking') continue;
    for (const signer of record.signers) keys.set(signer, (keys.get(signer) ?? new Set()).add(record.key));
  }
  return keys;
};

/** Every edge of the world that does not hold: for what is loaded, and for what a restart at this moment would load. */
export const brokenEdges = (world: World): readonly BrokenEdge[] => {
  const broken: BrokenEdge[] = [];
  const presenters = presented(world);
  for (const host of world.hosts.values()) {
    const apiserver = host.services.get('kube-apiserver');
    if (!apiserver) continue;
    const verifier = processId('kube-apiserver', host.name);
    const accepts = {
      loaded: new Set(apiserver.loaded.verifies),
      disk: new Set(onDisk(host, apiserver).verifies),
    };
    for (const [presenter, keys] of presenters) {
      for (const key of keys) {
        for (const where of ['loaded', 'disk'] as const) {
          if (!accepts[where].has(key)) broken.push({ presenter, verifier, key, where });
        }
      }
    }
  }
  return broken;
};

/** Identifies an edge and the place it is broken in. */
export const edgeId = (edge: BrokenEdge): string =>
  `${edge.presenter} → ${edge.verifier} ${edge.key} ${edge.where}`;

/** Broken edges of one key, taken together: for people, who need one line and not one per pair. */
export interface BrokenKey {
  readonly key: KeyRef;
  readonly presenters: readonly ProcessId[];
  /** Refuse it now. */
  readonly refusing: readonly ProcessId[];
  /** Accept it now, and would refuse it after their next restart. */
  readonly wouldRefuse: readonly ProcessId[];
}

/** The broken edges of a world, one entry a key. */
export const brokenKeys = (world: World): readonly BrokenKey[] => {
  const edges = brokenEdges(world);
  return [...new Set(edges.map(({ key }) => key))].map((key) => {
    const of = edges.filter((edge) => edge.key === key);
    const refusing = new Set(of.filter(({ where }) => where === 'loaded').map(({ verifier }) => verifier));
    const wouldRefuse = new Set(
      of.map(({ verifier }) => verifier).filter((verifier) => !refusing.has(verifier)),
    );
    return {
      key,
      presenters: [...new Set(of.map(({ presenter }) => presenter))],
      refusing: [...refusing],
      wouldRefuse: [...wouldRefuse],
    };
  });
};
