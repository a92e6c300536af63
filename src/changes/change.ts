import type { Timers } from '../core/poll.js';
import type { Store, HeldLock } from '../etcd/store.js';
import type { Host, KeyAlgorithm, ServiceSpec } from '../hosts/host.js';
import type { Issuer } from '../issuers/issuer.js';
import type { ApiServer, ServiceAccountRef } from '../kube/api-server.js';
import type { KeyRef, KeyState, ProcessId, ServiceName, World } from '../trust/world.js';

/**
 * The closed set of changes. Everything that a run does to a cluster is one of these; plan, proof, dry run, journal and
 * report are one function over this set. See docs/architecture.md for how to add one.
 */
export type Change =
  | GenerateKey
  | WriteFile
  | InstallFiles
  | RestoreFiles
  | RemoveFile
  | RestartService
  | PutRecords
  | DeleteSecret;

/** Generates a private key on a host; only its public half leaves it. */
export interface GenerateKey {
  readonly kind: 'generate-key';
  readonly host: string;
  readonly path: string;
  readonly algorithm: KeyAlgorithm;
  /** Symbol that is bound to the new kid once it is known. */
  readonly key: KeyRef;
  /** File whose owner and group the new one gets. */
  readonly like: string;
}

export interface WriteFile {
  readonly kind: 'write-file';
  readonly host: string;
  readonly path: string;
  readonly content: FileContent;
  /** Owner, group and mode of a new file are those of this one. */
  readonly like: string;
}

export type FileContent =
  /** Public keys, re-encoded block by block. */
  | { readonly type: 'verification-keys'; readonly keys: readonly KeyRef[] }
  /** A certificate for the key at `keyPath`, from the issuer. */
  | { readonly type: 'certificate'; readonly key: KeyRef; readonly keyPath: string }
  /** The private key that lies on another host; shared mode only. */
  | {
      readonly type: 'signing-key';
      readonly key: KeyRef;
      readonly from: { readonly host: string; readonly path: string };
    };

/** Moves staged files over the live ones, key and certificate as one exchange. */
export interface InstallFiles {
  readonly kind: 'install-files';
  readonly host: string;
  readonly files: readonly { readonly from: string; readonly to: string }[];
}

/** Puts files back as they were before their last change; what replaced them takes their place as what was before. */
export interface RestoreFiles {
  readonly kind: 'restore-files';
  readonly host: string;
  /** The signing key first, and its certificate where there is one. */
  readonly paths: readonly string[];
  /** The key that they hold then. */
  readonly key: KeyRef;
}

export interface RemoveFile {
  readonly kind: 'remove-file';
  readonly host: string;
  readonly path: string;
}

export interface RestartService {
  readonly kind: 'restart-service';
  readonly host: string;
  readonly service: ServiceName;
}

/** Puts key records, and the rotation they belong to, into the registry. */
export interface PutRecords {
  readonly kind: 'put-records';
  readonly records: readonly {
    readonly key: KeyRef;
    readonly state: KeyState;
    readonly signers: readonly ProcessId[];
    readonly rotation?: string;
    /** Kept once it is known; a key that comes to soak gets the time of the change. */
    readonly lastSigned?: Date;
    readonly lifeMs?: number;
  }[];
  readonly rotation?: { readonly id: string; readonly state: 'open' | 'done' };
}

/** Deletes the token Secret that was looked at: not another of its name, and not when it has changed since. */
export interface DeleteSecret {
  readonly kind: 'delete-secret';
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly serviceAccount: string | undefined;
  /** The key that signed its token. */
  readonly kid: KeyRef;
}

/** What a change may touch while it is applied, and nothing else. */
export interface ApplyContext {
  readonly doors: Doors;
  readonly settings: ApplySettings;
  readonly keys: KeyBindings;
  readonly cluster: string;
  /** Held while a restart is applied. */
  readonly lock: HeldLock | undefined;
  readonly signal: AbortSignal;
  readonly now: () => Date;
  readonly timers: Timers;
  readonly progress: (text: string, host?: string) => void;
}

export interface Doors {
  readonly host: (name: string) => Host;
  readonly api: (host: string) => ApiServer;
  /** Hosts that run a kube-apiserver. */
  readonly apiHosts: readonly string[];
  readonly store: Store;
  readonly issuer: Issuer | undefined;
  readonly service: (host: string, service: ServiceName) => ServiceSpec;
}

export interface ApplySettings {
  readonly registryPrefix: string;
  readonly certificateTtlMs: number;
  readonly probe: ServiceAccountRef;
  readonly readyTimeoutMs: number;
  readonly readyTimes: number;
  readonly settleMs: number;
  /** Commands of a host, run inside the lock before and after its restart. */
  readonly drain: (host: string) => readonly string[] | undefined;
  readonly undrain: (host: string) => readonly string[] | undefined;
}

/** Kids and public keys of symbols, bound while a run goes on, and of every key that was observed. */
export interface KeyBindings {
  bind(symbol: KeyRef, publicKeyPem: string): void;
  /** Throws `run.unbound-key` when the symbol has not been bound: a plan in the wrong order. */
  resolve(ref: KeyRef): { readonly kid: string; readonly publicKeyPem: string };
}

/** The one definition of a kind of change. */
export interface ChangeKind<C extends Change> {
  /** What it is, for people and for the journal, without the host. */
  describe(change: C): string;
  /** What it makes of the world. Pure. */
  model(change: C, world: World): World;
  /** The worlds that a crash in the middle of it could leave; none when it happens as a whole or not at all. Pure. */
  partial?(change: C, world: World): readonly World[];
  /** Makes it. Throws; an error with exit 6 means that nobody knows whether it took place. */
  apply(change: C, context: ApplyContext): Promise<void>;
  /** Looks whether it took place, by reading what it changed. Throws `verify.*`. */
  verify(change: C, context: ApplyContext): Promise<void>;
}
