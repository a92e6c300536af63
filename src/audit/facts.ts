import type { TrustObjects } from '../kube/trust-objects.js';
import type { Failure, HostState, Item } from './inventory.js';

/** All that an audit of one cluster saw; findings and matrices are functions of it. */
export interface ClusterFacts {
  readonly cluster: string;
  readonly now: Date;
  readonly limits: AuditLimits;
  readonly hosts: readonly HostState[];
  /** Hosts and apiservers that could not be looked at. */
  readonly failures: readonly Failure[];
  /** Host → the kids that its apiserver itself says it verifies with; missing where it does not say. */
  readonly jwks: ReadonlyMap<string, readonly string[]>;
  /** Objects of the API; undefined when no apiserver was there to ask. */
  readonly objects?: TrustObjects;
}

export interface AuditLimits {
  readonly renewBeforeMs: number;
  readonly clockSkewMs: number;
}

export const itemsOf = ({ hosts }: ClusterFacts): readonly Item[] => hosts.flatMap(({ items }) => items);

/** `kube-apiserver@cp1`. */
export const processOf = ({ component, host }: Pick<Item, 'component' | 'host'>): string =>
  `${component}@${host}`;
