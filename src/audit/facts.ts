import type { Address } from '../kube/endpoints.js';
import type { TrustObjects } from '../kube/trust-objects.js';
import type { CertificateView } from '../pem/x509.js';
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
  /** What servers named by objects of the API show to a control plane; missing where nobody could look. */
  readonly endpoints?: ReadonlyMap<EndpointKey, ServedEndpoint>;
}

/** `ADDRESS:PORT SERVERNAME`. */
type EndpointKey = string;

export const endpointKey = ({ address, serverName }: Address): EndpointKey => `${address} ${serverName}`;

export interface ServedEndpoint {
  /** The host that connected. */
  readonly from: string;
  /** The leaf first; empty when nothing answered with a certificate. */
  readonly chain: readonly CertificateView[];
}

export interface AuditLimits {
  readonly renewBeforeMs: number;
  readonly clockSkewMs: number;
}

export const itemsOf = ({ hosts }: ClusterFacts): readonly Item[] => hosts.flatMap(({ items }) => items);

/** `kube-apiserver@cp1`. */
export const processOf = ({ component, host }: Pick<Item, 'component' | 'host'>): string =>
  `${component}@${host}`;
