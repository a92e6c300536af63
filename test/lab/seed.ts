import type { KubeClient } from './kube.js';
import { CLIENT_ACCOUNT, type HostSpec } from './settings.js';

/** Makes the objects that the tests' clients need: a service account that may read. */
export const seedObjects = async (kube: KubeClient, host: HostSpec): Promise<void> => {
  const create = async (path: string, body: object): Promise<void> => {
    const answer = await kube.asAdmin(host.address, path, { method: 'POST', body });
    // 409: it is there already.
    if (answer.status !== 201 && answer.status !== 409)
      throw new Error(`POST ${path}: ${answer.status} ${answer.body}`);
  };
  await create(`/api/v1/namespaces/${CLIENT_ACCOUNT.namespace}/serviceaccounts`, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: CLIENT_ACCOUNT.name },
  });
  await create('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'lab-client-may-view' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ kind: 'ServiceAccount', ...CLIENT_ACCOUNT }],
  });
};
