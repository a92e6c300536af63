import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const home = (variable: string, ...otherwise: readonly string[]): string =>
  process.env[variable] ?? join(homedir(), ...otherwise);

/** Full names of the three control planes. */
export const HOST_NAMES = [
  'kubemaster1001.play.example.net',
  'kubemaster1002.play.example.net',
  'kubemaster1003.play.example.net',
] as const;
/** The name that the certificate of etcd carries. */
export const ETCD_NAME = 'etcd.play.example.net';
/** The name that the certificates of the apiservers carry. */
export const API_NAME = 'kubernetes.default.svc';
/** What tokens name as their issuer. */
export const TOKEN_ISSUER = 'https://kubernetes.default.svc.cluster.local';

export const DEFAULT_DIR = join(home('XDG_STATE_HOME', '.local', 'state'), 'certroll-playground');
/** Programs from Debian packages that are not installed on this machine. */
export const CACHE_DIR = join(home('XDG_CACHE_HOME', '.cache'), 'certroll-playground');
/** Seconds after which a playground ends by itself. */
export const DEFAULT_MAX_LIFE = 7200;

export const isRoot = (): boolean => userInfo().uid === 0;

/** A real kube-apiserver to run instead of the stand-in. */
export const realApiserver = (): string | undefined => process.env['KUBE_APISERVER'];

/** How to run a TypeScript file of this folder from any working directory. */
export const runTypeScript = (file: string): readonly string[] => [
  process.execPath,
  '--import',
  pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href,
  fileURLToPath(new URL(file, import.meta.url)),
];

/**
 * Set for everything that a playground starts, and passed on by its sshds: by it `down` finds what a pid file does not
 * name, such as a remote command that outlived its connection.
 */
export const MARK = 'CERTROLL_PLAYGROUND';

/** Where things lie in a playground's folder. */
export const layout = (dir: string) => ({
  dir,
  /** Says that the folder is a playground's, and may be removed; and what its apiservers are. */
  mark: join(dir, '.certroll-playground'),
  /** Says that it was left running to be used by hand. */
  kept: join(dir, '.kept'),
  clusterFile: join(dir, 'cluster.yaml'),
  kubeconfig: join(dir, 'kubeconfig'),
  sshConfig: join(dir, 'ssh_config'),
  knownHosts: join(dir, 'known_hosts'),
  identity: join(dir, 'id_ed25519'),
  authorizedKeys: join(dir, 'authorized_keys'),
  /** For CERTROLL_STATE_DIR, so that the journal of a toy cluster does not mix with real ones. */
  state: join(dir, 'state'),
  pki: (name: string) => join(dir, 'pki', name),
  etcd: (name: string) => join(dir, 'etcd', name),
  host: (host: string, name: string) => join(dir, host, name),
});

export type Layout = ReturnType<typeof layout>;
