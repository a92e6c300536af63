import type { LookedAt, ServedAt } from '../hosts/inspect.js';
import type { CertificateView } from '../pem/x509.js';
import type { Component } from './consumers.js';
import { readFile, type Content } from './content.js';
import type { ComponentProcess, ServingPort, Use } from './uses.js';

type File = Extract<LookedAt, { readonly kind: 'file' }>;

/** What was seen of a file without its text: an audit holds this of every file of every host until its end. */
export type FileState = Exclude<LookedAt, File> | Omit<File, 'text' | 'publicKeyPem'>;

/** One file of one process: what lies on disk, what is served, and what the process has loaded. */
export interface Item extends Use, Content {
  readonly host: string;
  readonly file: FileState | undefined;
  readonly served?: Served;
  readonly loaded: LoadedState;
  /** Names whose users cannot read it. */
  readonly isDenied: boolean;
  /** The user that its process runs as. */
  readonly user: string;
}

/** What a process has in memory of a file. */
export interface LoadedState {
  readonly state:
    /** What the file holds now. */
    | 'same'
    /** Something that was there before. */
    | 'stale'
    | 'unknown';
  /** How that is known. */
  readonly how: 'served' | 'start time' | 'reloads by itself' | 'not seen';
}

export interface Served {
  readonly address: string;
  /** The chain, the leaf first; empty when nothing answered with a certificate. */
  readonly certificates: readonly CertificateView[];
  /** Names of the authorities it asks client certificates of. */
  readonly authorities: readonly string[];
}

export interface ProcessState {
  readonly component: Component;
  readonly pid: number;
  readonly startedAtMs: number;
  readonly user: string;
  readonly unit?: string;
  /** The flags that name files differently in what its unit would start now. */
  readonly changedFlags: readonly string[];
  /** The addresses that others reach it at, by its flags, with the role of the certificate that must carry them. */
  readonly advertised: readonly Advertised[];
  /** The certificate that an apiserver shows itself on its loopback. */
  readonly loopback?: CertificateView;
}

export interface Advertised {
  readonly role: string;
  /** A DNS name or an IP address, without a port. */
  readonly name: string;
  readonly named: string;
}

/** Everything that was seen of one host. */
export interface HostState {
  readonly name: string;
  readonly role: 'control-plane' | 'node';
  readonly clockOffsetMs: number;
  readonly processes: readonly ProcessState[];
  readonly items: readonly Item[];
  /** Configurations and kubeconfigs that could not be read, and why. */
  readonly unread: readonly { readonly path: string; readonly component: Component; readonly why: string }[];
  /** Names in the folders of static pods. */
  readonly manifests: ReadonlyMap<string, readonly string[]>;
}

/** A host or an API that could not be looked at. */
export interface Failure {
  readonly host: string | undefined;
  readonly text: string;
  readonly hint: string | undefined;
}

/** How often components look at files that they read again by themselves, milliseconds (client-go: 5 minutes). */
const RELOAD_MS = 5 * 60_000;

const servedOf = (
  use: Use,
  ports: readonly ServingPort[],
  served: readonly ServedAt[],
  read: (text: string) => readonly CertificateView[],
): Served | undefined => {
  const port = ports.find(({ pid, role }) => pid === use.pid && role === use.role);
  if (!port || use.kind !== 'certificate') return undefined;
  const found = served.find(
    ({ address, serverName }) => address === port.address && serverName === undefined,
  );
  return (
    found && {
      address: found.address,
      certificates: read(found.certificates),
      authorities: found.authorities,
    }
  );
};

/**
 * What a process has loaded. What it serves tells for certain; else its start against the file's last change, by the same
 * host's clock. A file that it reads again by itself counts as loaded once it had the time to.
 */
export const loadedOf = (
  use: Pick<Use, 'reload'>,
  file: FileState | undefined,
  content: Pick<Content, 'certificates'>,
  served: Pick<Served, 'certificates'> | undefined,
  { startedAtMs, nowMs }: { readonly startedAtMs: number; readonly nowMs: number },
): LoadedState => {
  const [leaf] = served?.certificates ?? [];
  if (leaf) {
    const [onDisk] = content.certificates;
    const isSame = onDisk !== undefined && onDisk.der.equals(leaf.der);
    return { state: isSame ? 'same' : 'stale', how: 'served' };
  }
  if (file?.kind !== 'file') return { state: 'unknown', how: 'not seen' };
  if (file.changedAtMs < startedAtMs) return { state: 'same', how: 'start time' };
  if (use.reload === 'restart') return { state: 'stale', how: 'start time' };
  return nowMs - file.changedAtMs > RELOAD_MS
    ? { state: 'same', how: 'reloads by itself' }
    : { state: 'unknown', how: 'reloads by itself' };
};

const withoutText = (file: LookedAt): FileState => {
  if (file.kind !== 'file') return file;
  const { text: _text, publicKeyPem: _half, ...state } = file;
  return state;
};

export interface ItemSources {
  readonly host: string;
  readonly process: ComponentProcess;
  readonly files: ReadonlyMap<string, LookedAt>;
  readonly denied: ReadonlySet<string>;
  readonly ports: readonly ServingPort[];
  readonly served: readonly ServedAt[];
  /** By the host's own clock. */
  readonly nowMs: number;
}

/** One use with all that was seen of it. Pure. */
export const itemOf = (use: Use, sources: ItemSources): Item => {
  const { host, process, files, denied, ports, served, nowMs } = sources;
  const file = files.get(use.at);
  const content = readFile(use, file);
  const shown = servedOf(use, ports, served, (text) => readFile({ kind: 'certificate', text }).certificates);
  return {
    ...use,
    ...content,
    host,
    file: file && withoutText(file),
    ...(shown && { served: shown }),
    loaded: loadedOf(use, file, content, shown, { startedAtMs: process.startedAtMs, nowMs }),
    isDenied: denied.has(use.at),
    user: process.user,
  };
};
