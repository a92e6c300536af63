import { mayBeLive } from './live.js';
import {
  endOnDisk,
  nextFlags,
  onDisk,
  processId,
  type CaRef,
  type CertificateEnd,
  type HostState,
  type KeyRef,
  type ProcessId,
  type World,
} from './world.js';

/** What is presented: a token by its key, a token by its issuer, or a certificate by those who can vouch for it. */
export type Credential =
  | { readonly kind: 'token-key'; readonly key: KeyRef }
  | { readonly kind: 'token-issuer'; readonly issuer: string }
  | { readonly kind: 'certificate'; readonly channel: string; readonly authorities: readonly CaRef[] };

/** One thing that may be presented to one verifier. */
export interface Edge {
  /** A process; or a Secret that holds a token which never expires. */
  readonly presenter: ProcessId;
  readonly verifier: ProcessId;
  readonly credential: Credential;
  /**
   * Perhaps nobody presents it any more (a token that lies in a Secret, a key that lies in a bundle and is on no record):
   * that it is refused already need not be a fault. That it comes to be refused is.
   */
  readonly isDormant?: true;
}

/** An edge that does not hold, and whether that is so now (loaded) or only after the next restart (disk). */
export interface BrokenEdge extends Edge {
  readonly where: 'loaded' | 'disk';
}

/** A value for each of the two states that a process can be in at any moment: as it runs, and as it would start. */
interface Both<T> {
  readonly loaded: T;
  readonly disk: T;
}

/** Presenter of a key that was found in a bundle: whatever signed with it does so no more. */
const EARLIER: ProcessId = 'an earlier signer';

const WHERE = ['loaded', 'disk'] as const;

/**
 * Every key that live tokens may carry, by who presents them: what a process signs with now, what it would sign with
 * after a restart (it can crash at any moment), and what was signed before and has not run out. A key that is on
 * record as retired counts like any other: the tokens do not know of the record.
 */
const presentedKeys = (world: World): ReadonlyMap<ProcessId, ReadonlySet<KeyRef>> => {
  const keys = new Map<ProcessId, Set<KeyRef>>();
  const add = (presenter: ProcessId, key: KeyRef): void => {
    keys.set(presenter, (keys.get(presenter) ?? new Set()).add(key));
  };
  for (const host of world.hosts.values()) {
    for (const service of host.services.values()) {
      for (const key of [service.loaded.signs, onDisk(host, service).signs])
        if (key !== undefined) add(processId(service.service, host.name), key);
    }
  }
  for (const record of world.keys.values())
    if (mayBeLive(world, record))
      for (const signer of record.signers.length > 0 ? record.signers : [EARLIER]) add(signer, record.key);
  return keys;
};

/** The keys of tokens that Secrets hold and that never run out. */
const storedKeys = (world: World): ReadonlyMap<ProcessId, ReadonlySet<KeyRef>> =>
  new Map(
    (world.legacyTokens ?? []).flatMap(({ namespace, name, kid }) =>
      kid === undefined ? [] : [[`token Secret ${namespace}/${name}`, new Set([kid])] as const],
    ),
  );

/** Keys that some apiserver's files list and that are on no record: whoever put them there may have tokens of theirs in use. */
const listedKeys = (world: World): ReadonlyMap<ProcessId, ReadonlySet<KeyRef>> => {
  const signing = new Set([...presentedKeys(world).values()].flatMap((keys) => [...keys]));
  const listed = [...world.hosts.values()].flatMap((host) => {
    const apiserver = host.services.get('kube-apiserver');
    return apiserver ? onDisk(host, apiserver).verifies : [];
  });
  return new Map([[EARLIER, new Set(listed.filter((key) => !world.keys.has(key) && !signing.has(key)))]]);
};

/** The issuers that live tokens carry: what each apiserver writes into them now, would after a restart, and did before one. */
const presentedIssuers = (world: World): ReadonlyMap<ProcessId, ReadonlySet<string>> => {
  const presented = new Map<ProcessId, ReadonlySet<string>>();
  if (world.earlierIssuers) presented.set(EARLIER, new Set(world.earlierIssuers));
  for (const host of world.hosts.values()) {
    const apiserver = host.services.get('kube-apiserver');
    const issuers = [apiserver?.issuers?.[0], apiserver && nextFlags(apiserver).issuers[0]];
    const found = issuers.filter((issuer) => issuer !== undefined);
    if (found.length > 0) presented.set(processId('kube-apiserver', host.name), new Set(found));
  }
  return presented;
};

const brokenTokens = (world: World): readonly BrokenEdge[] => {
  const broken: BrokenEdge[] = [];
  const check = <T>(
    verifier: ProcessId,
    presented: ReadonlyMap<ProcessId, ReadonlySet<T>>,
    accepts: Both<readonly T[]>,
    credential: (value: T) => Credential,
    isDormant = false,
  ): void => {
    const accepted = { loaded: new Set(accepts.loaded), disk: new Set(accepts.disk) };
    for (const [presenter, values] of presented)
      for (const value of values)
        for (const where of WHERE)
          if (!accepted[where].has(value))
            broken.push({
              presenter,
              verifier,
              credential: credential(value),
              where,
              ...(isDormant && { isDormant }),
            });
  };
  const keys = presentedKeys(world);
  const dormant = new Map([...storedKeys(world), ...listedKeys(world)]);
  const issuers = presentedIssuers(world);
  for (const host of world.hosts.values()) {
    const apiserver = host.services.get('kube-apiserver');
    if (!apiserver) continue;
    const verifier = processId('kube-apiserver', host.name);
    const listed = { loaded: apiserver.loaded.verifies, disk: onDisk(host, apiserver).verifies };
    check(verifier, keys, listed, (key) => ({ kind: 'token-key', key }));
    check(verifier, dormant, listed, (key) => ({ kind: 'token-key', key }), true);
    // A world that does not say which issuers are accepted (an old flag, a test of keys alone) accepts any.
    const accepted = { loaded: apiserver.issuers ?? [], disk: nextFlags(apiserver).issuers };
    if (accepted.loaded.length > 0)
      check(verifier, issuers, accepted, (issuer) => ({ kind: 'token-issuer', issuer }));
  }
  return broken;
};

interface PlacedEnd {
  readonly host: HostState;
  readonly end: CertificateEnd;
}

/** What an end may hold at any moment, as it runs and as it would start. */
const possibilities = ({ host, end }: PlacedEnd): Both<readonly (readonly CaRef[])[]> => ({
  loaded: end.loaded,
  disk: [endOnDisk(host, end)],
});

/** A certificate is accepted when the verifier trusts one of those who can vouch for it, whatever either of the two may hold by now. */
const brokenCertificates = (world: World): readonly BrokenEdge[] => {
  const ends = [...world.hosts.values()].flatMap((host) =>
    (host.certificateEnds ?? []).map((end): PlacedEnd => ({ host, end })),
  );
  const broken: BrokenEdge[] = [];
  for (const presenting of ends.filter(({ end }) => end.role === 'presents')) {
    // Either state of the presenter meets either state of the verifier: each may start anew by itself.
    const { loaded, disk } = possibilities(presenting);
    const shown = [...loaded, ...disk];
    for (const checking of ends) {
      const { end } = checking;
      if (end.role !== 'trusts' || end.channel !== presenting.end.channel) continue;
      const trusted = possibilities(checking);
      for (const where of WHERE) {
        const refused = shown.find((authorities) =>
          trusted[where].some((trust) => !authorities.some((authority: CaRef) => trust.includes(authority))),
        );
        if (refused)
          broken.push({
            presenter: presenting.end.process,
            verifier: end.process,
            credential: { kind: 'certificate', channel: end.channel, authorities: refused },
            where,
          });
      }
    }
  }
  return broken;
};

/** Every edge of the world that does not hold: for what is loaded, and for what a restart at this moment would load. */
export const brokenEdges = (world: World): readonly BrokenEdge[] => [
  ...brokenTokens(world),
  ...brokenCertificates(world),
];

/** A credential for people. */
export const describeCredential = (credential: Credential): string => {
  switch (credential.kind) {
    case 'token-key':
      return `a token signed with '${credential.key}'`;
    case 'token-issuer':
      return `a token of issuer ${credential.issuer}`;
    case 'certificate':
      return `the ${credential.channel} certificate by ${credential.authorities.join(', ') || 'nobody'}`;
  }
};

/** Identifies an edge and the place it is broken in. */
export const edgeId = (edge: BrokenEdge): string =>
  `${edge.presenter} → ${edge.verifier} ${describeCredential(edge.credential)} ${edge.where}`;

/** Broken edges of one credential, taken together: for people, who need one line and not one per pair. */
export interface BrokenCredential {
  readonly credential: Credential;
  readonly presenters: readonly ProcessId[];
  /** Refuse it now. */
  readonly refusing: readonly ProcessId[];
  /** Accept it now, and would refuse it after their next restart. */
  readonly wouldRefuse: readonly ProcessId[];
}

/** The broken edges of a world that are faults now, one entry a credential. */
export const brokenCredentials = (world: World): readonly BrokenCredential[] => {
  const groups = new Map<string, BrokenEdge[]>();
  for (const edge of brokenEdges(world).filter(({ isDormant }) => isDormant !== true)) {
    const name = describeCredential(edge.credential);
    groups.set(name, [...(groups.get(name) ?? []), edge]);
  }
  return [...groups.values()].flatMap((of) => {
    const [first] = of;
    if (!first) return [];
    const refusing = new Set(of.filter(({ where }) => where === 'loaded').map(({ verifier }) => verifier));
    const wouldRefuse = new Set(
      of.map(({ verifier }) => verifier).filter((verifier) => !refusing.has(verifier)),
    );
    return [
      {
        credential: first.credential,
        presenters: [...new Set(of.map(({ presenter }) => presenter))],
        refusing: [...refusing],
        wouldRefuse: [...wouldRefuse],
      },
    ];
  });
};
