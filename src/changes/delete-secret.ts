import { CertrollError } from '../core/errors.js';
import type { ApiServer } from '../kube/api-server.js';
import type { ApplyContext, ChangeKind, DeleteSecret } from './change.js';

/** Any apiserver will do: they share one etcd. The first that answers, since the others are ready too (preflight). */
const anyApi = ({ doors }: ApplyContext): ApiServer => {
  const [host] = doors.apiHosts;
  if (host === undefined) throw new Error('no host runs a kube-apiserver: a defect of the plan');
  return doors.api(host);
};

/** Deletes a token Secret. The token in it is refused from then on, by every apiserver, wherever it was copied to. */
export const deleteSecret: ChangeKind<DeleteSecret> = {
  describe: ({ namespace, name, serviceAccount, kid }) =>
    `delete the token Secret ${namespace}/${name} (service account ${serviceAccount ?? 'unknown'}, kid ${kid})`,

  model: ({ uid }, world) =>
    world.legacyTokens
      ? { ...world, legacyTokens: world.legacyTokens.filter((token) => token.uid !== uid) }
      : world,

  apply: async ({ namespace, name, uid, resourceVersion }, context) =>
    anyApi(context).deleteSecret({ namespace, name, uid, resourceVersion }),

  async verify({ namespace, name, uid }, context) {
    const api = anyApi(context);
    // One of the same name with another uid was made since, and is not the plan's business.
    if ((await api.secretUid({ namespace, name })) !== uid) return;
    throw new CertrollError(
      `${api.host}: the Secret ${namespace}/${name} was deleted and is still there: something holds it back (metadata.finalizers)`,
      {
        code: 'verify.secret',
        host: api.host,
        hint: `See kubectl get secret -n ${namespace} ${name} -o jsonpath={.metadata.finalizers}. It goes as soon as whoever put those there takes them away.`,
      },
    );
  },
};
