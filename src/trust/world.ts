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
  /** How long a token may live after it was minted. */
  readonly tokenLife: TokenLife;
  /** Issuers that tokens still carry though the apiserver that wrote them has been started with another since. */
  readonly earlierIssuers?: readonly string[];
  /** Token Secrets that never expire; undefined when nobody looked. */
  readonly legacyTokens?: readonly LegacyToken[];
  /**
   * Host → how many tokens its apiserver has got since it started that should have been refreshed by then
   * (`serviceaccount_stale_tokens_total`); undefined when nobody looked.
   */
  readonly staleTokens?: ReadonlyMap<string, number>;
}

/** The longest life of a token that the running apiservers' flags allow. */
export interface TokenLife {
  /** Milliseconds. */
  readonly maxMs: number;
  /** Which flag or setting says so, for people. */
  readonly why: string;
  /** The cluster file says less than the flags allow: then the apiservers must be seen not to get older tokens any more. */
  readonly shortened?: boolean;
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
  /** Where certificates are presented and checked. */
  readonly certificateEnds?: readonly CertificateEnd[];
}

/** A certificate authority: the hash of its name and key; or a symbol for one that is still to be made. */
export type CaRef = string;

/**
 * One end of a channel on which certificates are shown: a process that presents one, or a process that checks those
 * of all presenters of the channel. `etcd-server` or `apiserver-serving` are channels.
 */
export interface CertificateEnd {
  readonly process: ProcessId;
  readonly role: 'presents' | 'trusts';
  readonly channel: string;
  readonly file: string;
  /** restart: read when the process starts · live: read again by itself, at some time after the file has changed. */
  readonly reload: 'restart' | 'live';
  /**
   * What the process may have in memory: one entry when that is known, several while it may or may not have read its
   * file again. An entry is the authorities that a presented certificate can be verified by, or those that are trusted.
   */
  readonly loaded: readonly (readonly CaRef[])[];
}

/** What a file holds, as its consumer would load it. A file that is not in the map does not exist. */
export interface FileState {
  /** The signing key in it, when it is a private key file. */
  readonly signingKey?: KeyRef;
  readonly verificationKeys: readonly KeyRef[];
  /** When it holds a certificate of `signingKey` or of a verification key. */
  readonly certificate?: CertificateState;
  /** Of a certificate: who can vouch for it. Of a trust bundle: whom its reader trusts. */
  readonly authorities?: readonly CaRef[];
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
  /** `--service-account-issuer`, the first of which is written into tokens. */
  readonly issuers?: readonly string[];
  /** The flags it would be started with now, where they differ from those it runs with. */
  readonly next?: ServiceFlags;
  /** Digest of what its service manager makes it from (a static pod's manifest), certroll's own note left out. */
  readonly definition?: string;
  readonly loaded: Loaded;
}

/** What of a service's flags decides whose tokens it accepts and what it signs with. */
export interface ServiceFlags {
  readonly signingFile: string | undefined;
  readonly verificationFiles: readonly string[];
  readonly issuers: readonly string[];
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
  /** When the last process that signed with it was seen to sign with another; kept from then on. */
  readonly lastSigned?: Date;
  /** The longest life of a token when it was retired, milliseconds: flags that change later make no old token live again. */
  readonly lifeMs?: number;
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

/** What an end of a channel would read from its file now. */
const authoritiesIn = (files: HostState['files'], { file }: CertificateEnd): readonly CaRef[] =>
  files.get(file)?.authorities ?? [];

/** The world with one file written or (undefined) removed. A process that reads it again by itself may have done so, or not yet. */
export const withFile = (world: World, host: string, path: string, file: FileState | undefined): World =>
  withHost(world, host, (state) => {
    const files = new Map(state.files);
    if (file) files.set(path, file);
    else files.delete(path);
    const ends = state.certificateEnds?.map((end) =>
      end.file === path && end.reload === 'live'
        ? { ...end, loaded: [...end.loaded, authoritiesIn(files, end)] }
        : end,
    );
    return { ...state, files, ...(ends && { certificateEnds: ends }) };
  });

/** The flags a process would be started with now. */
export const nextFlags = (service: ServiceState): ServiceFlags =>
  service.next ?? {
    signingFile: service.signingFile,
    verificationFiles: service.verificationFiles,
    issuers: service.issuers ?? [],
  };

/** What a process would load if it started now, by its flags and its files as they are now. */
export const onDisk = (host: HostState, service: ServiceState): Pick<Loaded, 'signs' | 'verifies'> => {
  const { signingFile, verificationFiles } = nextFlags(service);
  return {
    signs: signingFile === undefined ? undefined : host.files.get(signingFile)?.signingKey,
    verifies: [...new Set(verificationFiles.flatMap((path) => host.files.get(path)?.verificationKeys ?? []))],
  };
};

/** What an end would have in memory after a start, which is also what it may come to hold by itself. */
export const endOnDisk = (host: HostState, end: CertificateEnd): readonly CaRef[] =>
  authoritiesIn(host.files, end);

/** The world after a process was started anew. */
export const withRestart = (world: World, host: string, name: ServiceName): World => {
  const [issuer] = hostOf(world, host).services.get(name)?.issuers ?? [];
  const after = withHost(world, host, (state) => {
    const service = state.services.get(name);
    if (!service) throw new Error(`no ${name} on ${host}`);
    const loaded: Loaded = { ...onDisk(state, service), how: service.loaded.how };
    const { next: _begun, ...rest } = service;
    return withEndsRead(
      { ...state, services: new Map(state.services).set(name, { ...rest, ...nextFlags(service), loaded }) },
      processId(name, host),
    );
  });
  if (issuer === undefined) return after;
  return { ...after, earlierIssuers: [...new Set([...(world.earlierIssuers ?? []), issuer])] };
};

/** The host after a process has read all of its certificate files again: it was started anew, or was seen to have done so. */
export const withEndsRead = (host: HostState, process: ProcessId): HostState =>
  host.certificateEnds
    ? {
        ...host,
        certificateEnds: host.certificateEnds.map((end) =>
          end.process === process ? { ...end, loaded: [endOnDisk(host, end)] } : end,
        ),
      }
    : host;

/** True when the process may have loaded something else than what its files hold now. */
export const isStale = (host: HostState, service: ServiceState): boolean => {
  const disk = onDisk(host, service);
  const loaded = new Set(service.loaded.verifies);
  return (
    disk.signs !== service.loaded.signs ||
    disk.verifies.some((key) => !loaded.has(key)) ||
    loaded.size > disk.verifies.length ||
    service.next !== undefined
  );
};
