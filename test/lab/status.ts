import type { BaseLab } from './base-lab.js';
import { hostsOf } from './topology.js';

const shorten = (kid: string): string => kid.slice(0, 8);

/** Prints what there is, asking only what can answer: works on a lab that is half down. */
export const printStatus = async (lab: BaseLab, print: (line: string) => void): Promise<void> => {
  const balancer = await lab.haproxyStates().catch(() => new Map<string, string>());
  for (const host of hostsOf(lab.topology)) {
    const parts = [host.name.padEnd(15), host.address, (await lab.state(host.name)).padEnd(3)];
    if (host.role === 'control-plane') {
      const ready = await lab.ready(host.name);
      const kids = ready ? (await lab.jwks(host.name)).map(shorten) : [];
      parts.push(
        `apiserver ${ready ? 'ready' : 'not ready'}`,
        `haproxy ${balancer.get(host.name) ?? 'unknown'}`,
        `trusts ${kids.join(' ')}`,
      );
    }
    print(parts.join('  '));
  }
  const matrix = await lab.matrix().catch(() => []);
  if (matrix.length > 0) print('\nTokens (rows: minted by; columns: presented to)');
  for (const signer of lab.controlPlanes) {
    const row = matrix.filter((entry) => entry.signer === signer.name);
    if (row.length > 0)
      print([signer.name.padEnd(15), ...row.map((entry) => String(entry.status))].join('  '));
  }
};
