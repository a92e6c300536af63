import { setTimeout as delay } from 'node:timers/promises';
import type { PlaygroundHost } from './host.js';

/**
 * Makes the service account that probe tokens are for, on real apiservers: elsewhere the controller-manager does. The
 * namespace is made by the apiserver itself, a moment after it is ready.
 */
export const seed = async ([host]: readonly PlaygroundHost[]): Promise<void> => {
  const body = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } };
  const deadline = Date.now() + 60_000;
  for (;;) {
    const answer = await host?.ask('/api/v1/namespaces/kube-system/serviceaccounts', {
      method: 'POST',
      body,
    });
    if (answer && [201, 409].includes(answer.status)) return;
    if (Date.now() > deadline)
      throw new Error(`The service account cannot be made: ${answer?.body ?? 'no host'}`);
    await delay(200);
  }
};
