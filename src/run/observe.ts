import { readRegistry } from '../changes/registry.js';
import type { KeyRef, ServiceName, TokenLife, World } from '../trust/world.js';
import { observeHost, type HostObserveOptions, type KeyFiles, type SeenHost } from './observe-host.js';
import { observeLegacyTokens } from './observe-legacy-tokens.js';

export interface ObserveOptions extends HostObserveOptions {
  readonly cluster: string;
  readonly hosts: readonly string[];
  readonly registryPrefix: string;
  /** `serviceAccounts.soak` of the cluster file, milliseconds. */
  readonly soakMs: number | undefined;
  /** Whether to look at the token Secrets, which takes rights that nothing else needs. */
  readonly legacyTokens: boolean;
  readonly now: () => Date;
}

export interface Observation {
  readonly world: World;
  /** Host's clock minus the bastion's, milliseconds. */
  readonly clockOffsetMs: ReadonlyMap<string, number>;
  /** What could not be seen the best way, for people. */
  readonly notes: readonly string[];
  /** Services that the cluster file names and that were not found running: nothing is known of what they accept or sign. */
  readonly unseen: readonly UnseenService[];
  /** Host → the files that were read for its keys. */
  readonly keyFiles: ReadonlyMap<string, KeyFiles>;
}

export interface UnseenService {
  readonly host: string;
  readonly service: ServiceName;
  /** What the service manager said instead. */
  readonly detail: string;
}

const unseenOn = ({ state: { name }, facts }: SeenHost, options: ObserveOptions): readonly UnseenService[] =>
  (Object.keys(options.services(name)) as ServiceName[]).flatMap((service) => {
    const fact = facts.services.get(service);
    return fact?.running === true
      ? []
      : [{ host: name, service, detail: fact?.detail ?? 'nothing was said of it' }];
  });

/** What the cluster file says, else the longest life that any running apiserver's flags allow. */
const tokenLifeOf = (seen: readonly SeenHost[], soakMs: number | undefined): TokenLife => {
  const byFlags = seen
    .flatMap(({ tokenLife }) => tokenLife ?? [])
    .reduce<TokenLife>((longest, each) => (each.maxMs > longest.maxMs ? each : longest), {
      maxMs: 0,
      why: 'no apiserver was seen running',
    });
  if (soakMs === undefined) return byFlags;
  return { maxMs: soakMs, why: 'serviceAccounts.soak', shortened: soakMs < byFlags.maxMs };
};

/** How many tokens each apiserver got that should have been refreshed; needed where the cluster file says less than the flags. */
const observeStaleTokens = async ({ doors, hosts }: ObserveOptions): Promise<ReadonlyMap<string, number>> =>
  new Map(await Promise.all(hosts.map(async (name) => [name, await doors.api(name).staleTokens()] as const)));

/** Observes the whole world. Changes nothing. Throws the errors of the doors: what cannot be seen is never taken as well. */
export const observe = async (options: ObserveOptions): Promise<Observation> => {
  const registry = await readRegistry(options.doors.store, options.registryPrefix, options.cluster);
  const seen = await Promise.all(options.hosts.map(async (name) => observeHost(name, options)));
  const publicKeys = new Map<KeyRef, string>([
    ...registry.records.map((record) => [record.key, record.publicKeyPem] as const),
    ...seen.flatMap((host) => [...host.publicKeys]),
  ]);
  if (options.legacyTokens) options.progress('listing the token Secrets and who uses them');
  const legacyTokens = options.legacyTokens
    ? await observeLegacyTokens(options.doors, publicKeys)
    : undefined;
  const tokenLife = tokenLifeOf(seen, options.soakMs);
  const staleTokens =
    options.legacyTokens && tokenLife.shortened === true ? await observeStaleTokens(options) : undefined;
  return {
    world: {
      cluster: options.cluster,
      now: options.now(),
      hosts: new Map(seen.map(({ state }) => [state.name, state])),
      keys: new Map(registry.records.map((record) => [record.key, record])),
      rotation: registry.rotation,
      publicKeys,
      tokenLife,
      ...(legacyTokens && { legacyTokens }),
      ...(staleTokens && { staleTokens }),
    },
    clockOffsetMs: new Map(seen.map(({ state, facts }) => [state.name, facts.clockOffsetMs])),
    notes: seen.flatMap(({ notes }) => notes),
    keyFiles: new Map(seen.map(({ state, keyFiles }) => [state.name, keyFiles])),
    unseen: seen.flatMap((host) => unseenOn(host, options)),
  };
};
