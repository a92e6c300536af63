import { CertrollError } from '../core/errors.js';
import type { Host } from './host.js';
import { COMM, inspectScript } from './inspect-script.js';
import { decode, readSaid, startTime, toMs, understood, type Clocks } from './said.js';
import { startCommand } from './systemd-command.js';

/** What is to be looked at on a host. Every path is absolute, as the host sees it. */
export interface InspectRequest {
  /** Names of programs whose processes are to be found. */
  readonly programs?: readonly string[];
  /** Processes that are found by a file with their pid, whatever their program is called. */
  readonly pidFiles?: readonly { readonly program: string; readonly path: string }[];
  /** PEM files; of private keys only the public half comes back. */
  readonly files?: readonly string[];
  /** YAML documents (kubeconfigs, configurations); their skeleton comes back, see `SKELETON`. */
  readonly documents?: readonly string[];
  readonly folders?: readonly string[];
  /** Which files each of these users cannot read. */
  readonly readers?: readonly Reader[];
  /** What is served there, from the host's own view. */
  readonly ports?: readonly Port[];
}

export interface Reader {
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
  readonly paths: readonly string[];
}

export interface Port {
  /** `ADDRESS:PORT`, an IPv6 address in brackets. */
  readonly address: string;
  /** The name asked for (SNI); none when left out. */
  readonly serverName?: string;
}

export interface Inspection {
  /** Host's clock minus the bastion's, milliseconds. */
  readonly clockOffsetMs: number;
  readonly processes: readonly FoundProcess[];
  readonly files: ReadonlyMap<string, LookedAt>;
  /** Folder → names in it; a folder that is not there is missing. */
  readonly folders: ReadonlyMap<string, readonly string[]>;
  /** uid → paths that it cannot read. */
  readonly denied: ReadonlyMap<number, ReadonlySet<string>>;
  readonly ports: readonly ServedAt[];
}

export interface FoundProcess {
  readonly program: string;
  readonly pid: number;
  /** Milliseconds since the epoch, by the host's clock. */
  readonly startedAtMs: number;
  readonly argv: readonly string[];
  /** Variables that etcd takes for flags. */
  readonly environment: ReadonlyMap<string, string>;
  /** The systemd unit whose main process it is. */
  readonly unit?: string;
  /** The arguments that its unit would start it with now; undefined where nobody can tell. */
  readonly nextArgv?: readonly string[];
  readonly user: string;
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
  /** Put before a path, the path as this process sees it: empty, or /proc/PID/root in a container. */
  readonly root: string;
  readonly cwd: string;
}

export type LookedAt =
  | { readonly kind: 'absent'; /** Where a link points that leads nowhere. */ readonly linkTo?: string }
  | { readonly kind: 'unreadable'; readonly why: string }
  | {
      readonly kind: 'file';
      /** Permission bits. */
      readonly mode: number;
      /** Later of mtime and ctime, milliseconds since the epoch, by the host's clock. */
      readonly changedAtMs: number;
      readonly mtimeMs: number;
      readonly uid: number;
      readonly gid: number;
      readonly owner: string;
      readonly group: string;
      readonly linkTo?: string;
      /** Redacted: see `REDACT` and `SKELETON`. */
      readonly text: string;
      /** SubjectPublicKeyInfo in PEM of the first private key in it; undefined when there is none that openssl reads. */
      readonly publicKeyPem?: string;
    };

export interface ServedAt extends Port {
  /** PEM, the leaf first; empty when nothing was served. */
  readonly certificates: string;
  /** Names of the authorities that client certificates are asked for, one a line (RFC 2253). */
  readonly authorities: readonly string[];
}

/** Handshakes with ports that do not answer take their time one after the other. */
const TIMEOUT_MS = 180_000;

/**
 * Looks at a host in one round trip; see `inspectScript`. Throws the errors of `Host.run`, and `host.read` when the answer is
 * incomplete or the host lacks a program; what cannot be read is in the answer.
 */
export const inspect = async (host: Host, request: InspectRequest): Promise<Inspection> => {
  const sentAtMs = Date.now();
  const { stdout } = await host.run(['sh', '-s'], {
    stdin: inspectScript(request),
    readOnly: true,
    timeoutMs: TIMEOUT_MS,
  });
  const trip = { sentAtMs, receivedAtMs: Date.now() };
  return understood(host.name, () => parseInspection(host.name, stdout.toString(), request, trip));
};

const parseInspection = (
  host: string,
  output: string,
  request: InspectRequest,
  trip: Parameters<typeof readSaid>[2],
): Inspection => {
  const { lines, clocks, clockOffsetMs } = readSaid(host, output, trip);
  const processes = new Map<number, FoundProcess>();
  const files = new Map<string, LookedAt>();
  const folders = new Map<string, readonly string[]>();
  const denied = new Map<number, Set<string>>();
  const ports: ServedAt[] = [];
  for (const [kind, first = '', ...words] of lines) {
    if (kind === 'missing') throw lacks(host, decode(first));
    if (kind === 'process') {
      const found = processOf([first, ...words], request, clocks);
      if (found) processes.set(found.pid, found);
    }
    if (kind === 'unit') {
      const found = processes.get(Number(first));
      const [unit = '', execStart = '', environment = '', environmentFiles = ''] = words.map(decode);
      const nextArgv = startCommand({ execStart, environment, environmentFiles });
      if (found) processes.set(found.pid, { ...found, unit, ...(nextArgv && { nextArgv }) });
    }
    if (kind === 'absent') files.set(decode(first), { kind, ...optional('linkTo', decode(words[0]).trim()) });
    if (kind === 'unreadable') files.set(decode(first), { kind, why: decode(words[0]).trim() });
    if (kind === 'looked') files.set(decode(first), fileOf(words));
    if (kind === 'folder') folders.set(decode(first), linesOf(decode(words[0])));
    if (kind === 'denied')
      denied.set(Number(first), (denied.get(Number(first)) ?? new Set()).add(decode(words[0])));
    if (kind === 'port') {
      const [serverName = '', certificates = '', authorities = ''] = words.map(decode);
      const port = { address: decode(first), ...optional('serverName', serverName) };
      ports.push({ ...port, certificates: certificates.trimStart(), authorities: linesOf(authorities) });
    }
  }
  return { clockOffsetMs, processes: [...processes.values()], files, folders, denied, ports };
};

const lacks = (host: string, program: string): CertrollError =>
  new CertrollError(`cannot look at ${host}: it has no ${program}`, {
    code: 'host.read',
    host,
    hint: `An audit needs sh, coreutils, openssl and ${program} on every host.`,
  });

/**
 * Whether a process is of that program. The kernel keeps 15 characters of a name, the same of calico's kube-controllers and of
 * kube-controller-manager: then the first argument tells.
 */
const isCalled = (program: string, comm: string, [first = '']: readonly string[]): boolean =>
  program.slice(0, COMM) === comm &&
  (program.length <= COMM || first.replace(/^.*\//, '').startsWith(program));

const processOf = (
  words: readonly string[],
  request: InspectRequest,
  clocks: Clocks,
): FoundProcess | undefined => {
  const [name, pid, ticks, comm, uid, gid, groups, _capabilities, user, view, cwd, argv, environment] = words;
  const called = decode(comm).trim();
  const given = decode(argv).replace(/\0$/, '').split('\0');
  const program = decode(name) || request.programs?.find((each) => isCalled(each, called, given));
  if (program === undefined) return undefined;
  return {
    program,
    pid: Number(pid),
    startedAtMs: startTime(Number(ticks), clocks),
    argv: given,
    environment: new Map(
      linesOf(decode(environment)).map((line) => {
        const equals = line.indexOf('=');
        return [line.slice(0, equals), line.slice(equals + 1)];
      }),
    ),
    user: decode(user),
    uid: Number(uid),
    gid: Number(gid),
    groups: groups === undefined || groups === '-' ? [] : groups.split(',').map(Number),
    root: view === 'other' ? `/proc/${pid ?? ''}/root` : '',
    cwd: decode(cwd).trim() || '/',
  };
};

const fileOf = (words: readonly string[]): LookedAt => {
  const [mode = '', mtime, ctime, uid, gid, _size, owner, group, linkTo, text, half] = words;
  const mtimeMs = toMs(mtime);
  return {
    kind: 'file',
    mode: Number.parseInt(mode, 8),
    changedAtMs: Math.max(mtimeMs, toMs(ctime)),
    mtimeMs,
    uid: Number(uid),
    gid: Number(gid),
    owner: decode(owner).trim(),
    group: decode(group).trim(),
    ...optional('linkTo', decode(linkTo).trim()),
    text: decode(text),
    ...optional('publicKeyPem', decode(half)),
  };
};

const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');

const optional = <Key extends string>(key: Key, value: string): { readonly [K in Key]?: string } =>
  (value === '' ? {} : { [key]: value }) as { readonly [K in Key]?: string };
