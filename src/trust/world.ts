/**
 * The world as certroll knows it: what lies on the hosts' disks, what each running process has loaded, and
 * the key registry. The same type holds the observed world and every predicted one.
 */

/** A kid; or, for a key that is still to be generated, a symbol such as `next key of cp1`. */
export type KeyRef = string;

export type ServiceName = 'kube-apiserver' | 'kube-controller-manager';

/** `SERVICE@HOST`, such as `kube-apiserver@cp1`. */
export type ProcessId = string;

export const processId = (service: ServiceName, host: string): ProcessId => `${service}@${host}`;

export interface World {
  readonly cluster: string;
  readonly now: Date;
  readonly hosts: ReadonlyMap<string, HostState>;
  /** The registry in etcd: every key that was ever published and not yet forgotten, by kid. */
  readonly keys: ReadonlyMap<KeyRef, KeyRecord>;
  readonly rotation: Rotation | undefined;
  /** SubjectPublicKeyInfo (PEM) of every kid seen anywhere: files, processes, registry. */
  readonly publicKeys: ReadonlyMap<KeyRef, string>;
  /** Token Secrets that never expire; undefined when nobody looked. */
  readonly legacyTokens?: readonly LegacyToken[];
}

/** A Secret of type kubernetes.io/service-account-token: its token never expires. */
export interface LegacyToken {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly serviceAccount: string | undefined;
  /** The key that its signature was verified with; undefined when none that is known verifies it. */
  readonly kid: KeyRef | undefined;
  /** Running pods that mount it. */
  readonly pods: readonly string[];
  /** Day of its last use, as kube-apiserver labels it. */
  readonly lastUsed: string | undefined;
}

export interface HostState {
  readonly name: string;
  readonly files: ReadonlyMap<string, FileState>;
  readonly services: ReadonlyMap<ServiceName, ServiceState>;
}

/** What a file holds, as its consumer would load it. A file that is not in the map does not exist. */
export interface FileState {
  /** The signing key in it, when it is a private key file. */
  readonly signingKey?: KeyRef;
  readonly verificationKeys: readonly KeyRef[];
  /** When it holds a certificate of `signingKey` or of a verification key. */
  readonly certificate?: CertificateState;
  /** Blocks its consumer would silently lose, and other faults; shown, and reasons to refuse. */
  readonly problems: readonly string[];
}

export interface CertificateState {
  readonly key: KeyRef;
  /** Undefined in a predicted world: the certificate is not issued yet. */
  readonly notAfter?: Date;
}

export interface ServiceState {
  readonly service: ServiceName;
  /** Which file the process signs with (its own flag); undefined when it signs nothing. */
  readonly signingFile: string | undefined;
  readonly verificationFiles: readonly string[];
  readonly loaded: Loaded;
}

export interface Loaded {
  /** The key that the live process signs with; undefined when that could not be observed. */
  readonly signs: KeyRef | undefined;
  readonly verifies: readonly KeyRef[];
  /** How this is known, best first. */
  readonly how: 'jwks' | 'process-start' | 'unknown';
}

/** issued → published → accepted → promoted → soaking → retired. */
export const KEY_STATES = ['issued', 'published', 'accepted', 'promoted', 'soaking', 'retired'] as const;
export type KeyState = (typeof KEY_STATES)[number];

export interface KeyRecord {
  readonly key: KeyRef;
  readonly state: KeyState;
  /** Processes that sign, signed, or will sign with it. */
  readonly signers: readonly ProcessId[];
  /** The rotation it was issued for; undefined for a key that was found, not issued. */
  readonly rotation: string | undefined;
  /** When it came into this state. */
  readonly since: Date;
}

export interface Rotation {
  readonly id: string;
  readonly state: 'open' | 'done';
  readonly startedAt: Date;
}

/** The host of that name. Throws when there is none: a defect, since hosts come from the world itself. */
export const hostOf = (world: World, name: string): HostState => {
  const host = world.hosts.get(name);
  if (!host) throw new Error(`no host ${name} in the world`);
  return host;
};

/** The world with one host changed. */
export const withHost = (world: World, name: string, change: (host: HostState) => HostState): World => ({
  ...world,
  hosts: new Map(world.hosts).set(name, change(hostOf(world, name))),
});

/** The world with one file written or (undefined) removed. */
export const withFile = (world: World, host: string, path: string, file: FileState | undefined): World =>
  withHost(world, host, (state) => {
    const files = new Map(state.files);
    if (file) files.set(path, file);
    else files.delete(path);
    return { ...state, files };
  });

/** What a process would load if it started now, from its files. */
export const onDisk = (host: HostState, service: ServiceState): Pick<Loaded, 'signs' | 'verifies'> => ({
  signs: service.signingFile === undefined ? undefined : host.files.get(service.signingFile)?.signingKey,
  verifies: [
    ...new Set(service.verificationFiles.flatMap((path) => host.files.get(path)?.verificationKeys ?? [])),
  ],
});

/** The world after a process was started anew. */
export const withRestart = (world: World, host: string, name: ServiceName): World =>
  withHost(world, host, (state) => {
    const service = state.services.get(name);
    if (!service) throw new Error(`no ${name} on ${host}`);
    const loaded: Loaded = { ...onDisk(state, service), how: service.loaded.how };
    return { ...state, services: new Map(state.services).set(name, { ...service, loaded }) };
  });

/** True when the process may have loaded something else than what its files hold now. */
export const isStale = (host: HostState, service: ServiceState): boolean => {
  const disk = onDisk(host, service);
  const loaded = new Set(service.loaded.verifies);
  return (
    disk.signs !== service.loaded.signs ||
    disk.verifies.some((key) => !loaded.has(key)) ||
    loaded.size > disk.verifies.length
  );
};
