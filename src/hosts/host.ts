import type { Secret } from '../core/secret.js';
import type { Fence } from './fence.js';

/**
 * One host as certroll sees it: the only door to a remote machine. Every method throws a
 * `CertrollError` whose message names the host, what was tried and what to do; its code is one of
 * `ssh.unreachable`, `ssh.host-key`, `ssh.auth`, `ssh.outcome-unknown` (exit 6: the connection was
 * lost after the command was sent), `ssh.timeout`, `sudo.password`, `sudo.refused`, `host.command`
 * (non-zero exit), `host.write`, `host.no-space`.
 */
export interface Host {
  readonly name: string;
  /** The address SSH connects to (after ssh_config), for reaching the host's other ports. */
  address(): Promise<string>;
  /** Runs one command, built from an argument list; sudo as the cluster file says. */
  run(argv: readonly string[], options?: RunOptions): Promise<RunResult>;
  /** Reads all facts asked for in one round trip. Changes nothing on the host. */
  readFacts(request: FactRequest): Promise<HostFacts>;
  /**
   * Writes atomically: staged in the same folder, fsync, owner/group/mode and SELinux label kept
   * from the file it replaces (or from `like`), rename, re-read and compared by hash. The file
   * replaced is kept as a hard link `PATH.certroll-previous` when `keepPrevious`.
   */
  writeFile(path: string, content: string | Secret, options?: WriteOptions): Promise<void>;
  /**
   * Installs staged files over live ones by rename, in the order given, all in one remote command:
   * owner, group, mode and label of the live file are given to the staged one before the rename.
   */
  installFiles(
    files: readonly { readonly from: string; readonly to: string }[],
    options?: { readonly keepPrevious?: boolean },
  ): Promise<void>;
  /**
   * Puts `PATH.certroll-previous` back as PATH, for each in the order given, in one remote command; the path is never
   * without a file. With `aside` what was there meanwhile is kept under that name; `PATH.certroll-previous` itself lets
   * the two change places.
   */
  restoreFiles(files: readonly { readonly path: string; readonly aside?: string }[]): Promise<void>;
  removeFile(path: string): Promise<void>;
  /** Generates a private key on the host into `path` (0600 root until installed); returns its public half. */
  generateKey(
    path: string,
    algorithm: KeyAlgorithm,
    options?: { readonly like?: string },
  ): Promise<{ readonly publicKeyPem: string }>;
  /** Makes a certificate request with the key at `keyPath` on the host; the key does not leave it. */
  certificateRequest(
    keyPath: string,
    subject: { readonly commonName: string; readonly dnsNames?: readonly string[] },
  ): Promise<string>;
  /** Signs bytes with the private key at `keyPath` on the host, as openssl does (DER for ECDSA). */
  sign(keyPath: string, data: Uint8Array, digest: 'sha256' | 'sha384'): Promise<Buffer>;
  /** Reads a private file. Only for moving a shared key from one host to another. */
  readSecret(path: string): Promise<Secret>;
  /**
   * The same host, for changes that may be made only while the fence holds. It is the host that looks, right before each
   * command: one that comes too late by its own clock fails with `lock.too-late`, one that finds another file than was
   * seen (unless this very host object has changed it) with `host.changed`; neither is run.
   */
  fenced(fence: Fence): Host;
  close(): Promise<void>;
}

export type KeyAlgorithm = 'rsa-2048' | 'rsa-3072' | 'rsa-4096' | 'ecdsa-p256' | 'ecdsa-p384';

export interface RunOptions {
  /** Default: what the cluster file says (`ssh.sudo`). */
  readonly sudo?: boolean;
  readonly stdin?: string | Uint8Array | Secret;
  /** Milliseconds. Default 60 000. */
  readonly timeoutMs?: number;
  /** Exit codes that are not an error. Default [0]. */
  readonly okCodes?: readonly number[];
  readonly signal?: AbortSignal;
  /** The command changes nothing: a lost connection is then `ssh.unreachable`, not an unknown outcome. */
  readonly readOnly?: boolean;
}

export interface RunResult {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface WriteOptions {
  /** SHA-256 of what must be there right before the rename; else nothing is written, and `host.changed` is thrown. */
  readonly ifSha256?: string;
  /** Owner, group and mode when the file is new: copied from this file. */
  readonly like?: string;
  /** Octal mode when the file is new and there is no `like`, e.g. 0o644. */
  readonly mode?: number;
  readonly keepPrevious?: boolean;
}

/** How a service's process is found and restarted; `services/` has one definition of each kind. */
export type ServiceSpec = SystemdService | CommandService | StaticPodService;

export interface SystemdService {
  readonly kind: 'systemd';
  readonly unit: string;
}

export interface CommandService {
  readonly kind: 'command';
  /** Prints nothing; exits 0 once the restart was done. */
  readonly restart: readonly string[];
  /** A file on the host that holds the pid. */
  readonly pidFile: string;
}

/** A pod that kubelet makes from a file on its host. */
export interface StaticPodService {
  readonly kind: 'static-pod';
  /** Path of the manifest, in a folder that kubelet watches. */
  readonly manifest: string;
  /** Base name of the program, such as kube-apiserver. */
  readonly program: string;
}

export interface FactRequest {
  /** Public files: contents are returned. Never name a private key here. */
  readonly publicFiles?: readonly string[];
  /** Private key files: only their public half is returned, computed on the host. */
  readonly privateKeys?: readonly string[];
  readonly services?: Readonly<Record<string, ServiceSpec>>;
  /** Folders whose free space is asked. */
  readonly freeSpaceOf?: readonly string[];
  /** Whether a process with a root of its own sees in that folder what the host does, and these files of it. */
  readonly sharedFolders?: readonly SharedFolder[];
}

export interface SharedFolder {
  readonly pid: number;
  /** Where the process has it. */
  readonly inside: string;
  /** Where the host has it. */
  readonly outside: string;
  /** Paths of the host below it. */
  readonly files: readonly string[];
}

export interface HostFacts {
  /** Host's clock minus the bastion's, in milliseconds, taken at the middle of the round trip. */
  readonly clockOffsetMs: number;
  readonly hostname: string;
  readonly files: ReadonlyMap<string, FileFact>;
  readonly services: ReadonlyMap<string, ServiceFact>;
  /** Folder → bytes free. */
  readonly freeBytes: ReadonlyMap<string, number>;
  /** Of the shared folders asked for: what a process does not see as the host does, and why, for people. */
  readonly notShared: readonly NotShared[];
}

export interface NotShared {
  /** The folder, or the file, by its path on the host. */
  readonly path: string;
  /** Where a file's link leads to, out of the folder; undefined where the folder itself is another one. */
  readonly leadsTo: string | undefined;
}

export type FileFact =
  | { readonly exists: false; readonly path: string }
  | {
      readonly exists: true;
      readonly path: string;
      readonly sha256: string;
      /** Octal permission bits, e.g. 0o640. */
      readonly mode: number;
      readonly owner: string;
      readonly group: string;
      /** Later of mtime and ctime, milliseconds since the epoch, by the host's clock (a rename moves only ctime). */
      readonly changedAtMs: number;
      readonly mtimeMs: number;
      /** Only for `publicFiles`. */
      readonly content?: string;
      /** Only for `privateKeys`: SubjectPublicKeyInfo in PEM; undefined when openssl cannot read the key. */
      readonly publicKeyPem?: string;
    };

export type ServiceFact = StoppedService | RunningService;

export interface StoppedService {
  readonly running: false;
  readonly detail: string;
  /** Several processes could be it, as while one takes the place of another: nothing can be said of it now. */
  readonly isUnclear?: true;
  readonly manifest?: ManifestFact;
}

export interface RunningService {
  readonly running: true;
  readonly pid: number;
  /** Clock ticks since boot from /proc/PID/stat: with the pid and boot id it identifies one process. */
  readonly startTicks: number;
  /** Milliseconds since the epoch, by the host's clock. */
  readonly startedAtMs: number;
  /** The running process's own arguments (/proc/PID/cmdline). */
  readonly argv: readonly string[];
  /** The arguments it would be started with now; undefined where the service manager cannot tell. */
  readonly nextArgv?: readonly string[];
  readonly user: string;
  /** Of a process in a pod. The paths in its arguments are those of the host. */
  readonly pod?: PodFact;
  readonly manifest?: ManifestFact;
}

/** What a container is of, and what its process may read. */
export interface PodFact {
  /** kubelet's id for the pod; of a static pod another one for each content of its manifest. */
  readonly uid: string;
  readonly containerId: string;
  /** The process's rights, as the host counts users and groups. */
  readonly userId: number;
  readonly groupId: number;
  readonly groups: readonly number[];
  /** Absolute paths among the arguments that are not mounted from the host; its namesakes on the host are other files. */
  readonly foreign: readonly string[];
}

/** The manifest of a static pod, as it lies on the host. */
export interface ManifestFact {
  readonly path: string;
  /** Undefined where there is none that could be read. */
  readonly text?: string;
  readonly sha256?: string;
  /** Why nothing can be known from it, for people. */
  readonly problem?: string;
  /** When certroll last asked for a restart in it, as it noted then. */
  readonly restartedAt?: string;
  /** What kubelet reads of it, certroll's own note left out: equal for manifests that make the same pod. */
  readonly content?: string;
  readonly mounts: readonly Mount[];
}

/** One volume mount of a container. */
export interface Mount {
  /** Where the container has it: absolute, without a slash at its end. */
  readonly inside: string;
  /** Where it lies on the host; undefined for a volume that is not of the host, such as an emptyDir. */
  readonly outside: string | undefined;
  /** The manifest says that it is one file. Of one that says nothing only the host knows. */
  readonly isFile: boolean;
}
