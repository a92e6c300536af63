import type { Doors } from '../changes/change.js';
import { kidThatVerifies } from '../kube/token-signature.js';
import type { KeyRef, LegacyToken } from '../trust/world.js';

/**
 * Every token Secret of the cluster, the key that signed its token, and the pods that use it. Throws `kube.forbidden` when they
 * may not be listed: none seen is not the same as none there. The tokens themselves go no further than this function.
 */
export const observeLegacyTokens = async (
  doors: Doors,
  publicKeys: ReadonlyMap<KeyRef, string>,
): Promise<readonly LegacyToken[]> => {
  const [host] = doors.apiHosts;
  if (host === undefined) throw new Error('no host runs a kube-apiserver');
  const api = doors.api(host);
  const secrets = await api.tokenSecrets();
  // After the Secrets: a pod that came meanwhile is seen.
  const uses = await api.secretsInUse();
  const pods = new Map<string, string[]>();
  for (const { namespace, secret, pod } of uses) {
    const id = `${namespace}/${secret}`;
    pods.set(id, [...(pods.get(id) ?? []), pod]);
  }
  return secrets.map(({ token, ...secret }) => {
    const kid = token && kidThatVerifies(token, publicKeys);
    token?.wipe();
    return {
      ...{ namespace: secret.namespace, name: secret.name, uid: secret.uid },
      resourceVersion: secret.resourceVersion,
      serviceAccount: secret.serviceAccount,
      kid,
      pods: pods.get(`${secret.namespace}/${secret.name}`) ?? [],
      lastUsed: secret.lastUsed,
    };
  });
};
