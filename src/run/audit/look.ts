import { COMPONENTS, INPUTS, PROGRAMS, type Component } from '../../audit/consumers.js';
import { itemOf, type Advertised, type HostState, type ProcessState } from '../../audit/inventory.js';
import { readFile } from '../../audit/content.js';
import {
  configOf,
  kubeadmAt,
  locate,
  portsOf,
  settingsOf,
  single,
  usesInKubeconfig,
  usesOf,
  type ComponentProcess,
  type ServingPort,
  type Settings,
  type Use,
} from '../../audit/uses.js';
import type { Host } from '../../hosts/host.js';
import { inspect, type FoundProcess, type Inspection, type LookedAt } from '../../hosts/inspect.js';
import { NOT_READ } from '../../hosts/redact.js';
import { LOOPBACK_NAME } from '../../kube/flags.js';

/** How the processes of a host are found. */
export interface LookOptions {
  readonly role: HostState['role'];
  /** Components that the cluster file finds by their pid file; they are looked for by name nowhere else. */
  readonly pidFiles: readonly { readonly program: Component; readonly path: string }[];
  /** Components that the cluster file says are not there. */
  readonly without: readonly Component[];
  readonly now: () => number;
  readonly progress: (text: string) => void;
}

/** A process with what it uses. */
interface Known {
  readonly process: ComponentProcess;
  readonly settings: Settings;
  readonly uses: readonly Use[];
  readonly ports: readonly ServingPort[];
}

const isComponent = (process: FoundProcess): process is ComponentProcess =>
  (COMPONENTS as readonly string[]).includes(process.program);

const whyUnread = (file: LookedAt | undefined): string | undefined => {
  if (file?.kind === 'unreadable') return file.why;
  if (file?.kind !== 'file') return undefined;
  const lost = Number(NOT_READ.exec(file.text)?.[1] ?? 0);
  return lost > 0 ? `${lost} of its lines are not in YAML block style` : undefined;
};

const textOf = (file: LookedAt | undefined): string | undefined =>
  file?.kind === 'file' ? file.text : undefined;

const know = (process: ComponentProcess, documents: Inspection['files']): Known => {
  const config = configOf(process);
  const settings = settingsOf(
    process,
    config === undefined ? undefined : textOf(documents.get(locate(process, config))),
  );
  const named = usesOf(process, settings);
  // Several flags may name one kubeconfig: what is in it is used once.
  const kubeconfigs = new Map(named.filter(({ kind }) => kind === 'kubeconfig').map((use) => [use.at, use]));
  const inside = [...kubeconfigs.values()].flatMap((use) => {
    const text = textOf(documents.get(use.at));
    return text === undefined ? [] : usesInKubeconfig(process, use, text);
  });
  return { process, settings, uses: [...named, ...inside], ports: portsOf(process, settings) };
};

/** Configurations, and the kubeconfigs that flags name. */
const documentsOf = (process: ComponentProcess): readonly string[] => {
  const config = configOf(process);
  const kubeconfigs = usesOf(process, settingsOf(process)).filter(({ kind }) => kind === 'kubeconfig');
  return [...(config === undefined ? [] : [locate(process, config)]), ...kubeconfigs.map(({ at }) => at)];
};

const unique = <T>(list: readonly T[]): readonly T[] => [...new Set(list)];

const hostIn = (url: string): string | undefined =>
  URL.canParse(url) && url.startsWith('https:') ? new URL(url).hostname.replace(/^\[|\]$/g, '') : undefined;

const advertisedBy = ({ process, settings }: Known): readonly Advertised[] => {
  const urls = (flag: string, role: string): readonly Advertised[] =>
    (single(settings, flag) ?? '').split(',').flatMap((url) => {
      const name = hostIn(url);
      return name === undefined ? [] : [{ role, name, named: `--${flag}` }];
    });
  if (process.program === 'etcd')
    return [
      ...urls('advertise-client-urls', 'serving certificate'),
      ...urls('initial-advertise-peer-urls', 'peer certificate'),
    ];
  const address = process.program === 'kube-apiserver' ? single(settings, 'advertise-address') : undefined;
  return address === undefined
    ? []
    : [{ role: 'serving certificate', name: address, named: '--advertise-address' }];
};

/** Flags that name files and that the unit would give other values to now. */
const changedFlags = (process: ComponentProcess): readonly string[] => {
  if (process.nextArgv === undefined) return [];
  const now = settingsOf(process).flags;
  const next = settingsOf({ ...process, argv: process.nextArgv }).flags;
  return INPUTS[process.program]
    .map(({ flag }) => flag)
    .filter((flag) => JSON.stringify(now.get(flag)) !== JSON.stringify(next.get(flag)))
    .map((flag) => `--${flag}`);
};

const manifestFolder = ({ process, settings }: Known): string | undefined => {
  const path = process.program === 'kubelet' ? single(settings, 'pod-manifest-path') : undefined;
  return path === undefined ? undefined : locate(process, path);
};

const processState = (known: Known, { ports: served }: Inspection): ProcessState => {
  const { process, ports } = known;
  const { program: component, pid, startedAtMs, user, unit } = process;
  const loopback = served.find(
    ({ address, serverName }) =>
      serverName === LOOPBACK_NAME && ports.some((port) => port.address === address),
  );
  const [leaf] = readFile({ kind: 'certificate', text: loopback?.certificates ?? '' }).certificates;
  return {
    ...{ component, pid, startedAtMs, user, ...(unit !== undefined && { unit }) },
    changedFlags: changedFlags(process),
    advertised: advertisedBy(known),
    // Asked for that name, other programs show what they show to all.
    ...(leaf && leaf.subject.includes(LOOPBACK_NAME) && { loopback: leaf }),
  };
};

/**
 * Looks at one host in three round trips: its processes; the configurations and kubeconfigs that their flags name; the
 * files that all of these name, with what is served. Changes nothing. Throws the errors of `inspect`.
 */
export const lookAt = async (host: Host, options: LookOptions): Promise<HostState> => {
  const { pidFiles, without, progress } = options;
  const byFile = new Set(pidFiles.map(({ program }) => program));
  progress('looking for its processes');
  const first = await inspect(host, {
    programs: PROGRAMS.filter((name) => !byFile.has(name) && !without.includes(name)),
    pidFiles,
  });
  const running = first.processes.filter(isComponent);
  const kubeadm = kubeadmAt(options.now() + first.clockOffsetMs);
  const processes = options.role === 'control-plane' ? [...running, kubeadm] : running;
  progress('reading its configurations and kubeconfigs');
  const documents = unique(processes.flatMap(documentsOf));
  const second = documents.length === 0 ? first : await inspect(host, { documents });
  // A configuration may name a kubeconfig.
  const further = unique(
    processes
      .flatMap((process) => know(process, second.files).uses)
      .flatMap(({ kind, at }) => (kind === 'kubeconfig' && !second.files.has(at) ? [at] : [])),
  );
  const third = further.length === 0 ? second : await inspect(host, { documents: further });
  const skeletons = new Map([...second.files, ...third.files]);
  const known = processes.map((process) => know(process, skeletons));
  progress('reading its keys and certificates, and what it serves');
  const last = await inspect(host, requestFor(known));
  const files = new Map([...skeletons, ...last.files]);
  const nowMs = options.now() + last.clockOffsetMs;
  return {
    name: host.name,
    role: options.role,
    clockOffsetMs: last.clockOffsetMs,
    processes: known.filter(({ process }) => process !== kubeadm).map((each) => processState(each, last)),
    items: known.flatMap(({ process, uses, ports }) =>
      uses
        .filter(({ at }) => process !== kubeadm || files.get(at)?.kind !== 'absent')
        .map((use) =>
          itemOf(use, {
            ...{ host: host.name, process, files, ports, nowMs },
            denied: last.denied.get(process.uid) ?? new Set(),
            served: last.ports,
          }),
        ),
    ),
    unread: known.flatMap(({ process, uses }) =>
      unique([
        ...documentsOf(process),
        ...uses.flatMap(({ kind, at }) => (kind === 'kubeconfig' ? [at] : [])),
      ])
        .map((path) => ({ path, component: process.program, why: whyUnread(skeletons.get(path)) }))
        .flatMap(({ why, ...rest }) => (why === undefined ? [] : [{ ...rest, why }])),
    ),
    manifests: last.folders,
  };
};

/** Everything that the uses of all processes need looked at. */
const requestFor = (known: readonly Known[]): Parameters<typeof inspect>[1] => ({
  files: unique(
    known
      .flatMap(({ uses }) => uses)
      .flatMap(({ kind, embedded, at }) => (kind === 'kubeconfig' || embedded ? [] : [at])),
  ),
  folders: unique(known.flatMap((each) => manifestFolder(each) ?? [])),
  // Through /proc/PID/root another user gets nowhere, whatever the file's mode.
  readers: known
    .filter(({ process }) => process.root === '' && process.uid !== 0)
    .map(({ process, uses }) => ({
      ...{ uid: process.uid, gid: process.gid, groups: process.groups },
      paths: unique(uses.map(({ at }) => at)),
    })),
  ports: known.flatMap(({ process, ports }) =>
    ports.flatMap(({ address }) => [
      { address },
      ...(process.program === 'kube-apiserver' ? [{ address, serverName: LOOPBACK_NAME }] : []),
    ]),
  ),
});
