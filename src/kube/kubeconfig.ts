import { newClusters, newContexts, newUsers } from '@kubernetes/client-node/dist/config_types.js';
import type { Cluster, User } from '@kubernetes/client-node';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { LineCounter, parseDocument } from 'yaml';

/** Of a kubeconfig the cluster and the user of one context; its paths are absolute. */
export interface Kubeconfig {
  readonly cluster: Cluster;
  readonly user: User;
}

/** Messages of the YAML reader quote what is written there, keys and tokens too: only their kind is told. */
const readYaml = (text: string): unknown => {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { merge: true, prettyErrors: false, lineCounter });
  const [error] = document.errors;
  if (!error) return document.toJS({ maxAliasCount: 100 });
  const { line } = lineCounter.linePos(error.pos[0]);
  throw new Error(`line ${line}: ${error.code.toLowerCase().replaceAll('_', ' ')}`);
};

const named = <T extends { readonly name: string }>(list: readonly T[], name: string | undefined) =>
  list.find((each) => each.name === name);

/**
 * Reads a kubeconfig with client-node's own readers of its parts, and without the rest of client-node: the models of all
 * of Kubernetes' objects take most of a second and some fifty megabytes. Throws an error that quotes nothing secret.
 */
export const loadKubeconfig = async (path: string, context?: string): Promise<Kubeconfig> => {
  const content = readYaml(await readFile(path, 'utf8'));
  if (typeof content !== 'object' || content === null) throw new Error('it is no kubeconfig');
  const parts = content as Readonly<Record<string, unknown>>;
  const name = context ?? parts['current-context'];
  const chosen = typeof name === 'string' ? named(newContexts(parts['contexts']), name) : undefined;
  const cluster = named(newClusters(parts['clusters']), chosen?.cluster);
  const user = named(newUsers(parts['users']), chosen?.user);
  if (!cluster || !user)
    throw new Error(`its context ${typeof name === 'string' ? name : '(none)'} names no cluster and user`);
  const beside = (file: string): string => resolve(dirname(path), file);
  return {
    cluster: { ...cluster, ...(cluster.caFile && { caFile: beside(cluster.caFile) }) },
    user: {
      ...user,
      ...(user.certFile && { certFile: beside(user.certFile) }),
      ...(user.keyFile && { keyFile: beside(user.keyFile) }),
    },
  };
};
