import type { Lab } from './lab.js';
import { hostNamed } from './settings.js';
import { sshSudo } from './ssh.js';
import { until } from './wait.js';

/**
 * Restarts one apiserver as a careful operator does by hand: a plain restart, then wait until it is ready and
 * until haproxy sends it connections again.
 */
export const restartPlainly = async (lab: Lab, host: string): Promise<void> => {
  await sshSudo(host, ['systemctl', 'restart', 'kube-apiserver.service']);
  await until(`the apiserver of ${host} is ready`, 60, () => lab.ready(host));
  await until(
    `haproxy sees ${host}`,
    60,
    async () => (await lab.haproxyStates()).get(hostNamed(host).name) === 'UP',
  );
};
