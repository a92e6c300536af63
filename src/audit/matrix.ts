import type { CertificateView } from '../pem/x509.js';
import type { Channel } from './consumers.js';
import { kidOfCertificate } from './content.js';
import { itemsOf, processOf, type ClusterFacts } from './facts.js';
import type { Item } from './inventory.js';
import { isSameName, isTrusted } from './verify.js';

/** Undefined: nobody can tell. */
export type Verdict = boolean | undefined;

/** A presenter of certificates and a verifier that it meets. */
export interface Pair {
  readonly channel: Channel;
  readonly presenter: Item;
  readonly verifier: Item;
  /** After both have been started anew. */
  readonly disk: Verdict;
  /** As both are now. */
  readonly loaded: Verdict;
}

/** The authority that a certificate names, by its name and, where a certificate of it was seen, its key. */
export interface Authority {
  readonly name: string;
  readonly kid: string | undefined;
}

export interface AuthorityRow {
  readonly channel: Channel;
  readonly authority: Authority;
  readonly presenters: readonly string[];
  readonly verifiers: readonly {
    readonly process: string;
    readonly named: string;
    readonly disk: Verdict;
    readonly loaded: Verdict;
  }[];
}

export interface KeyRow {
  readonly kid: string;
  readonly signers: readonly string[];
  readonly apiservers: readonly { readonly host: string; readonly disk: Verdict; readonly loaded: Verdict }[];
}

/** What an issuer signs is trusted where its name and key are, whichever certificate of it is there. */
const isIssuerTrusted = (issuer: CertificateView, roots: readonly CertificateView[]): boolean =>
  roots.some(
    (root) =>
      root.subjectDer.equals(issuer.subjectDer) &&
      kidOfCertificate(root.pem) === kidOfCertificate(issuer.pem),
  ) || isTrusted([issuer], roots);

const verdictOf = (
  presenter: Item,
  chain: readonly CertificateView[],
  roots: readonly CertificateView[],
): Verdict => {
  const [leaf] = chain;
  if (!leaf) return undefined;
  // Dates have findings of their own: an expired pair is not one that does not belong together.
  return presenter.kind === 'issuer' ? isIssuerTrusted(leaf, roots) : isTrusted(chain, roots);
};

/** What of a presenter's chain is in its process now; undefined when that is not known. */
const loadedChain = ({ loaded, served, certificates }: Item): readonly CertificateView[] | undefined => {
  if (served && served.certificates.length > 0) return served.certificates;
  return loaded.state === 'same' ? certificates : undefined;
};

/** Authorities by the names that the verifier itself asks client certificates of. */
const byName = (chain: readonly CertificateView[], names: readonly string[]): Verdict => {
  const top = chain.at(-1);
  if (!top || names.length === 0) return undefined;
  return names.some((name) => isSameName(name, issuerOf(top)) || isSameName(name, top.subject))
    ? undefined
    : false;
};

export const issuerOf = (certificate: CertificateView): string =>
  certificate.node.issuer.split('\n').join(', ');

const loadedVerdict = (presenter: Item, verifier: Item, names: readonly string[]): Verdict => {
  const chain = loadedChain(presenter);
  if (!chain) return undefined;
  return verifier.loaded.state === 'same'
    ? verdictOf(presenter, chain, verifier.certificates)
    : byName(chain, names);
};

/** Of a verifier of clients: the names that its process asks for at its port. */
const namesAsked = (verifier: Item, items: readonly Item[]): readonly string[] =>
  items.find(
    ({ host, pid, served, role }) =>
      host === verifier.host &&
      pid === verifier.pid &&
      served !== undefined &&
      role === (verifier.verifies === 'etcd-peer' ? 'peer certificate' : 'serving certificate'),
  )?.served?.authorities ?? [];

/** Several rules and a matrix ask for the pairs of the same facts. */
const remembered = new WeakMap<ClusterFacts, readonly Pair[]>();

/** Every presenter with every verifier of its channel. Pure. */
export const pairsOf = (facts: ClusterFacts): readonly Pair[] => {
  const pairs = remembered.get(facts) ?? findPairs(facts);
  remembered.set(facts, pairs);
  return pairs;
};

const findPairs = (facts: ClusterFacts): readonly Pair[] => {
  const items = itemsOf(facts);
  const byHost = new Map(facts.hosts.map((host) => [host.name, host.items]));
  const presenters = items.filter(({ presents, certificates }) => presents && certificates.length > 0);
  const verifiers = items.filter(({ verifies, loads }) => verifies && loads !== undefined);
  return presenters.flatMap((presenter) =>
    verifiers
      .filter(({ verifies }) => verifies === presenter.presents)
      .map((verifier) => ({
        channel: presenter.presents ?? 'apiserver-client',
        presenter,
        verifier,
        disk: verdictOf(presenter, presenter.certificates, verifier.certificates),
        loaded: loadedVerdict(presenter, verifier, namesAsked(verifier, byHost.get(verifier.host) ?? [])),
      })),
  );
};

const both = (one: Verdict, other: Verdict): Verdict =>
  one === false || other === false ? false : one === undefined || other === undefined ? undefined : true;

/** A finder of the certificate that a certificate was signed by, among all that were seen. */
const issuerFinder = (facts: ClusterFacts): ((certificate: CertificateView) => string | undefined) => {
  const seen = new Map(
    itemsOf(facts)
      .flatMap(({ certificates }) => certificates)
      .filter(({ isCa }) => isCa)
      .map((each) => [each.pem, each]),
  );
  return (certificate) => {
    const found = [...seen.values()].find((each) => isTrusted([certificate], [each]));
    return found && kidOfCertificate(found.pem);
  };
};

type Cell = AuthorityRow['verifiers'][number];

/** CA × verifier: whom the verifiers of each channel trust, on disk and loaded. Pure. */
export const authorityMatrix = (
  facts: ClusterFacts,
  pairs: readonly Pair[] = pairsOf(facts),
): readonly AuthorityRow[] => {
  const findIssuer = issuerFinder(facts);
  const rows = new Map<
    string,
    { channel: Channel; authority: Authority; presenters: Set<string>; verifiers: Map<string, Cell> }
  >();
  const authorities = new Map<string, Authority>();
  const authorityOf = (item: Item): Authority => {
    const [leaf] = item.certificates;
    if (!leaf) return { name: '-', kid: undefined };
    const found = authorities.get(leaf.pem) ?? {
      name: item.kind === 'issuer' ? leaf.subject : issuerOf(leaf),
      kid: item.kind === 'issuer' ? kidOfCertificate(leaf.pem) : findIssuer(item.certificates.at(-1) ?? leaf),
    };
    authorities.set(leaf.pem, found);
    return found;
  };
  for (const { channel, presenter, verifier, disk, loaded } of pairs) {
    const authority = authorityOf(presenter);
    const id = `${channel} ${authority.name} ${authority.kid ?? ''}`;
    const row = rows.get(id) ?? {
      channel,
      authority,
      presenters: new Set<string>(),
      verifiers: new Map<string, Cell>(),
    };
    rows.set(id, row);
    row.presenters.add(processOf(presenter));
    const process = processOf(verifier);
    const key = `${process} ${verifier.at} ${verifier.named}`;
    const before = row.verifiers.get(key);
    row.verifiers.set(key, {
      ...{ process, named: verifier.named },
      disk: before ? both(before.disk, disk) : disk,
      loaded: before ? both(before.loaded, loaded) : loaded,
    });
  }
  return [...rows.values()].map(({ presenters, verifiers, ...row }) => ({
    ...row,
    presenters: [...presenters],
    verifiers: [...verifiers.values()],
  }));
};

/** kid × apiserver: whose tokens are accepted where, on disk and loaded. Pure. */
export const keyMatrix = (facts: ClusterFacts): readonly KeyRow[] => {
  const items = itemsOf(facts);
  const signers = new Map<string, string[]>();
  for (const item of items.filter(({ kind }) => kind === 'signing-key')) {
    for (const kid of item.kids) signers.set(kid, [...(signers.get(kid) ?? []), processOf(item)]);
  }
  const verifiers = facts.hosts.flatMap(({ name, items: own }) => {
    const files = own.filter(({ kind }) => kind === 'verification-keys');
    if (files.length === 0 && !facts.jwks.has(name)) return [];
    const isKnown = files.every(({ loaded }) => loaded.state === 'same');
    const disk = new Set(files.flatMap(({ kids }) => kids));
    const listed = facts.jwks.get(name);
    return [{ host: name, disk, loaded: listed ? new Set(listed) : isKnown ? disk : undefined }];
  });
  const kids = new Set([
    ...signers.keys(),
    ...verifiers.flatMap(({ disk, loaded }) => [...disk, ...(loaded ?? [])]),
  ]);
  return [...kids].map((kid) => ({
    kid,
    signers: signers.get(kid) ?? [],
    apiservers: verifiers.map(({ host, disk, loaded }) => ({
      host,
      disk: disk.has(kid),
      loaded: loaded?.has(kid),
    })),
  }));
};
