import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { API_PORT, API_SERVER_NAME } from '../settings.js';
import { note, type LoadCounts } from './counts.js';
import type { TokenPool } from './tokens.js';

const PAUSE_MS = 200;

/**
 * A client such as calico's install loop: curl through the load balancer, a new connection each time, with a
 * token that some apiserver minted. The token comes by standard input, never as an argument.
 */
export const runCalico = async (pool: TokenPool, counts: LoadCounts, signal: AbortSignal): Promise<void> => {
  const address = `${API_SERVER_NAME}:${API_PORT}`;
  const curl = [
    ...['--silent', '--output', '/dev/null', '--write-out', '%{http_code}', '--max-time', '10'],
    ...[
      '--cacert',
      pool.lab.bastion.kubeCa,
      '--resolve',
      `${address}:${pool.lab.loadBalancer.address}`,
      '--header',
      '@-',
    ],
    `https://${address}/version`,
  ];
  while (!signal.aborted) {
    const token = pool.random();
    if (token) {
      const result = await execa('curl', curl, {
        input: `Authorization: Bearer ${token.token}`,
        reject: false,
      });
      const status = result.stdout;
      counts.calico.requests += 1;
      if (status === '200') counts.calico.ok += 1;
      else if (status === '401') counts.calico.unauthorized += 1;
      else counts.calico.failed += 1;
      if (status !== '200') {
        const what = status === '000' ? `curl ended with ${result.exitCode ?? 'a signal'}` : status;
        note(counts, { client: 'calico', signer: token.signer, kid: token.kid, what });
      }
    }
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
};
