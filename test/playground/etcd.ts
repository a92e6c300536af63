import { startDaemon, waitForDaemon } from './daemons.js';
import type { Ports } from './ports.js';
import type { Program } from './programs.js';
import type { Layout } from './settings.js';

/** Starts a real etcd of one member that wants client certificates, and waits until it serves. */
export const startEtcd = async (program: Program, at: Layout, ports: Ports): Promise<void> => {
  const client = `https://127.0.0.1:${ports.etcd}`;
  const peer = `http://127.0.0.1:${ports.etcdPeer}`;
  const options = {
    name: 'playground',
    'data-dir': at.etcd('data'),
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `playground=${peer}`,
    'trusted-ca-file': at.pki('etcd-ca.crt'),
    'cert-file': at.pki('etcd.crt'),
    'key-file': at.pki('etcd.key'),
    'client-cert-auth': 'true',
    'log-outputs': 'stderr',
    logger: 'zap',
  };
  const argv = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  await startDaemon(at.dir, at.etcd('etcd'), [program.path, ...argv], program.env);
  await waitForDaemon('etcd', at.etcd('etcd'), (log) => log.includes('serving client traffic securely'));
};
