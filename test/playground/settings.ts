import { homedir } from 'node:os';
import { join } from 'node:path';

/** The hosts of the playground: three sshd on loopback that go by these names. */
export const HOSTS = ['kubemaster1001', 'kubemaster1002', 'kubemaster1003'].map(
  (name) => `${name}.play.example.net`,
);

export const DEFAULT_DIR = join(
  process.env['XDG_STATE_HOME'] ?? join(homedir(), '.local', 'state'),
  'certroll-playground',
);

export const ISSUER = 'https://kubernetes.default.svc.cluster.local';

/** Paths below the playground's folder. */
export const paths = (dir: string) => ({
  clusterFile: join(dir, 'cluster.yaml'),
  sshConfig: join(dir, 'ssh_config'),
  kubeconfig: join(dir, 'kubeconfig'),
  state: join(dir, 'state'),
  pki: (name: string) => join(dir, 'pki', name),
  host: (host: string, name: string) => join(dir, host, name),
  pid: (name: string) => join(dir, 'pids', name),
});

export type Paths = ReturnType<typeof paths>;
