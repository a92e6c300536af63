import { setTimeout as delay } from 'node:timers/promises';
import type { PlaygroundHost } from './host.js';

const RBAC = 'rbac.authorization.k8s.io';
/** What elsewhere a controller-manager or an administrator makes. */
const OBJECTS = [
  {
    path: '/api/v1/namespaces/kube-system/serviceaccounts',
    body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } },
  },
  {
    path: `/apis/${RBAC}/v1/clusterrolebindings`,
    body: {
      apiVersion: `${RBAC}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'playground' },
      // Not `view`, which a controller-manager fills with the rules of this one.
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'system:aggregate-to-view' },
      subjects: [{ apiGroup: RBAC, kind: 'Group', name: 'system:serviceaccounts' }],
    },
  },
];

/**
 * Makes, on real apiservers, the service account that probe tokens are for, and lets service accounts read, as the
 * stand-in does. The namespace is made by the apiserver itself, a moment after it is ready.
 */
export const seed = async (host: PlaygroundHost): Promise<void> => {
  const deadline = Date.now() + 60_000;
  for (const { path, body } of OBJECTS) {
    for (;;) {
      const answer = await host.ask(path, { method: 'POST', body });
      if ([201, 409].includes(answer.status)) break;
      if (Date.now() > deadline) throw new Error(`${body.kind} cannot be made: ${answer.body}`);
      await delay(200);
    }
  }
};
