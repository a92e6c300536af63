import { z } from 'zod';
import { messageOf } from '../core/errors.js';
import { oneLine } from '../core/text.js';

/** Asks an apiserver for the JSON at a path. */
export type GetJson = (path: string) => Promise<unknown>;

export interface ListedNode {
  readonly name: string;
  readonly addresses: readonly string[];
}

/** Who is in a cluster, by its API. */
export interface ListedCluster {
  readonly version: string | undefined;
  readonly controlPlanes: readonly ListedNode[];
  readonly nodes: readonly ListedNode[];
  readonly leaseHosts: readonly string[];
  readonly endpoints: readonly string[];
  readonly unread: readonly string[];
}

const metadata = z.object({ name: z.string(), labels: z.record(z.string(), z.string()).default({}) });

const nodeList = z.object({
  items: z.array(
    z.object({
      metadata,
      status: z
        .object({ addresses: z.array(z.object({ address: z.string() })).default([]) })
        .default({ addresses: [] }),
    }),
  ),
});

const leaseList = z.object({ items: z.array(z.object({ metadata })) });

const endpoints = z.object({
  subsets: z
    .array(z.object({ addresses: z.array(z.object({ ip: z.string() })).nullish() }))
    .nullish()
    .transform((subsets) => (subsets ?? []).flatMap((each) => (each.addresses ?? []).map(({ ip }) => ip))),
});

const version = z.object({ gitVersion: z.string() });

/** The second one until Kubernetes 1.24. */
const LABELS = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master'];

/** What lists need; the first of them that an apiserver gives to everybody. */
const PATHS = {
  version: '/version',
  nodes: '/api/v1/nodes',
  // Each apiserver keeps one, named apiserver-HASH (KEP-1965).
  leases:
    '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?labelSelector=apiserver.kubernetes.io%2Fidentity%3Dkube-apiserver',
  endpoints: '/api/v1/namespaces/default/endpoints/kubernetes',
} as const;

/** Asks for nodes, the leases of apiservers and the endpoints of `kubernetes`; what may not be read is told, not thrown. */
export const listCluster = async (get: GetJson): Promise<ListedCluster> => {
  const unread: string[] = [];
  const read = async <T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> => {
    try {
      return schema.parse(await get(path));
    } catch (thrown) {
      const why = thrown instanceof z.ZodError ? 'gave an answer that is not understood' : messageOf(thrown);
      unread.push(`${path.replace(/\?.*/, '')}: ${oneLine(why).slice(0, 200)}`);
      return undefined;
    }
  };
  const found = {
    version: await read(PATHS.version, version),
    nodes: await read(PATHS.nodes, nodeList),
    leases: await read(PATHS.leases, leaseList),
    endpoints: await read(PATHS.endpoints, endpoints),
  };
  const nodes = (found.nodes?.items ?? []).map((item) => ({
    name: item.metadata.name,
    addresses: item.status.addresses.map(({ address }) => address),
    isControlPlane: LABELS.some((label) => label in item.metadata.labels),
  }));
  const listed = (isControlPlane: boolean): readonly ListedNode[] =>
    nodes
      .filter((node) => node.isControlPlane === isControlPlane)
      .map(({ name, addresses }) => ({ name, addresses }));
  return {
    version: found.version?.gitVersion,
    controlPlanes: listed(true),
    nodes: listed(false),
    leaseHosts: [
      ...new Set(
        (found.leases?.items ?? []).flatMap((item) => item.metadata.labels['kubernetes.io/hostname'] ?? []),
      ),
    ],
    endpoints: found.endpoints?.subsets ?? [],
    unread,
  };
};
