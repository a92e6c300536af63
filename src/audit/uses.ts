import { parse } from 'yaml';
import type { FoundProcess } from '../hosts/inspect.js';
import { ownAddress, readFlags, type Flags } from '../kube/flags.js';
import { CONFIG_FLAG, CONFIG_KEYS, INPUTS, type Component, type Input } from './consumers.js';

/** A process whose program is one of the components. */
export type ComponentProcess = FoundProcess & { readonly program: Component };

/** A file, or data inside a kubeconfig, that a process uses. */
export interface Use extends Omit<Input, 'flag' | 'key' | 'isRepeated' | 'path'> {
  readonly component: Component;
  readonly pid: number;
  /** What names it: `--tls-cert-file`, `clientCAFile in /var/lib/kubelet/config.yaml`. */
  readonly named: string;
  /** As the process sees it. */
  readonly path: string;
  /** As the host sees it: where to look. */
  readonly at: string;
  /** Of a certificate: where its private key is looked up, a path as the host sees it. */
  readonly keyAt?: string;
  /** Data that stands in a kubeconfig itself. */
  readonly embedded?: { readonly text: string; readonly publicKeyPem?: string };
}

/** The flags of a process: its arguments, etcd's environment for what is no argument, then its configuration file. */
export interface Settings {
  readonly flags: Flags;
  /** Flag → the file that it was taken from. */
  readonly from: ReadonlyMap<string, string>;
}

/** A path of a process as the host sees it; a relative one starts at the folder that it runs in. */
export const locate = ({ root, cwd }: Pick<FoundProcess, 'root' | 'cwd'>, path: string): string =>
  root + (path.startsWith('/') ? path : `${cwd === '/' ? '' : cwd}/${path}`);

/** `ETCD_CERT_FILE` for `cert-file`. */
const environmentFlags = (environment: ReadonlyMap<string, string>): Flags =>
  new Map(
    [...environment].map(([name, value]) => [
      name
        .replace(/^ETCD_/, '')
        .toLowerCase()
        .replaceAll('_', '-'),
      [value],
    ]),
  );

/** etcd is built on Go's own flags, where one dash is as good as two. */
const argumentsOf = ({ program, argv }: ComponentProcess): readonly string[] =>
  program === 'etcd' ? argv.map((word) => word.replace(/^-(?=[a-z])/, '--')) : argv;

/**
 * Whoever uses kubeadm's files next, which is no process yet: it will have read them as they are now. `nowMs`: by the
 * host's clock.
 */
export const kubeadmAt = (nowMs: number): ComponentProcess => ({
  ...{ program: 'kubeadm', pid: 0, startedAtMs: nowMs, argv: ['kubeadm'], environment: new Map() },
  ...{ user: 'root', uid: 0, gid: 0, groups: [], root: '', cwd: '/' },
});

/** The configuration file of a process, if it has one. */
export const configOf = (process: ComponentProcess): string | undefined => {
  const name = CONFIG_FLAG[process.program];
  return name === undefined ? undefined : settingsOf(process).flags.get(name)?.at(-1);
};

const pathsIn = (value: unknown, prefix = ''): readonly (readonly [string, string])[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.entries(value).flatMap(([name, each]) =>
        pathsIn(each, prefix === '' ? name : `${prefix}.${name}`),
      )
    : typeof value === 'string' || typeof value === 'number'
      ? [[prefix, String(value)]]
      : [];

/** Undefined when it is no YAML. */
const readYaml = (text: string): unknown => {
  try {
    return parse(text) as unknown;
  } catch {
    return undefined;
  }
};

/** Everything that decides what a process uses. `config`: the skeleton of its configuration file. */
export const settingsOf = (process: ComponentProcess, config?: string): Settings => {
  const flags = new Map(
    process.program === 'etcd' ? environmentFlags(process.environment) : new Map<string, readonly string[]>(),
  );
  for (const [name, values] of readFlags(argumentsOf(process))) flags.set(name, values);
  const from = new Map<string, string>();
  const path = config === undefined ? undefined : configOf(process);
  if (config === undefined || path === undefined) return { flags, from };
  const keys = CONFIG_KEYS[process.program];
  for (const [key, value] of pathsIn(readYaml(config))) {
    const flag = keys[key];
    // etcd takes nothing but its file then; elsewhere a flag wins.
    if (flag === undefined || value === '' || (flags.has(flag) && process.program !== 'etcd')) continue;
    flags.set(flag, [value]);
    from.set(flag, path);
  }
  return { flags, from };
};

export const single = ({ flags }: Settings, name: string): string | undefined =>
  flags.get(name)?.at(-1) || undefined;

/** The pair that a kubelet makes for itself where no flag names one. */
const kubeletDefaults = (settings: Settings): Settings => {
  if (single(settings, 'tls-cert-file') !== undefined) return settings;
  const dir = single(settings, 'cert-dir') ?? '/var/lib/kubelet/pki';
  const turned = single(settings, 'rotate-server-certificates') === 'true';
  const flags = new Map(settings.flags);
  flags.set('tls-cert-file', [`${dir}/${turned ? 'kubelet-server-current.pem' : 'kubelet.crt'}`]);
  flags.set('tls-private-key-file', [`${dir}/${turned ? 'kubelet-server-current.pem' : 'kubelet.key'}`]);
  return { flags, from: settings.from };
};

/** Every file that the flags of a process name. Pure. */
export const usesOf = (process: ComponentProcess, own: Settings): readonly Use[] => {
  const settings = process.program === 'kubelet' ? kubeletDefaults(own) : own;
  const inputs = INPUTS[process.program];
  const pathOf = (name: string): string | undefined =>
    single(settings, name) ?? inputs.find(({ flag }) => flag === name)?.path;
  return inputs.flatMap(({ flag, key, isRepeated, path: byDefault, ...input }): readonly Use[] => {
    const given = (settings.flags.get(flag) ?? []).filter((value) => value !== '');
    const values = given.length === 0 && byDefault !== undefined ? [byDefault] : given;
    const file = settings.from.get(flag);
    const keyPath = key === undefined ? undefined : pathOf(key);
    return (isRepeated === true ? [...new Set(values)] : values.slice(-1)).map((path) => ({
      ...input,
      component: process.program,
      pid: process.pid,
      named: file === undefined ? (own.flags.has(flag) ? `--${flag}` : 'by default') : `${flag} in ${file}`,
      path,
      at: locate(process, path),
      ...(keyPath !== undefined && { keyAt: locate(process, keyPath) }),
    }));
  });
};

interface Kubeconfig {
  readonly cluster: Readonly<Record<string, unknown>>;
  readonly user: Readonly<Record<string, unknown>>;
}

type Named = Readonly<Record<string, unknown>>;

const listIn = (value: unknown, key: string): readonly Named[] => {
  const list = (value as Named | undefined)?.[key];
  return Array.isArray(list) ? (list as readonly Named[]) : [];
};

/** The cluster and the user of the current context; undefined where the skeleton has none. */
const readKubeconfig = (text: string): Kubeconfig | undefined => {
  const value = readYaml(text);
  if (typeof value !== 'object' || value === null) return undefined;
  const pick = (list: string, part: string, name: unknown): Named | undefined =>
    listIn(value, list).find((each) => each['name'] === name)?.[part] as Named | undefined;
  const context = pick('contexts', 'context', (value as Named)['current-context']);
  const cluster = context && pick('clusters', 'cluster', context['cluster']);
  const user = context && pick('users', 'user', context['user']);
  return cluster && { cluster, user: user ?? {} };
};

const decode = (word: unknown): string => Buffer.from(String(word), 'base64').toString();

/** `client-certificate` in a kubeconfig starts at its folder (client-go clientcmd ResolveLocalPaths). */
const beside = (path: string, file: string): string =>
  file.startsWith('/') ? file : path.replace(/[^/]*$/, '') + file;

/** What a kubeconfig gives its process: authorities and a client pair, as paths or as data in it. Pure. */
export const usesInKubeconfig = (
  process: ComponentProcess,
  { path, at }: Use,
  skeleton: string,
): readonly Use[] => {
  const found = readKubeconfig(skeleton);
  if (!found) return [];
  const use = (
    part: Named,
    name: 'certificate-authority' | 'client-certificate' | 'client-key',
    input: Pick<Use, 'role' | 'kind'> & Partial<Use>,
  ): readonly Use[] => {
    const data = part[`${name}-data`] ?? (name === 'client-key' ? part['client-key-public'] : undefined);
    const common = {
      ...{ component: process.program, pid: process.pid, source: 'client-go tools/clientcmd', ...input },
      named: `${name} in ${path}`,
    };
    if (data !== undefined && data !== '') {
      const text = decode(data);
      const embedded = name === 'client-key' ? { text: '', publicKeyPem: text } : { text };
      return [{ ...common, path: `${path}#${name}`, at, reload: 'restart' as const, embedded }];
    }
    const file = part[name];
    if (typeof file !== 'string' || file === '') return [];
    const reload = name === 'certificate-authority' ? ('restart' as const) : ('live' as const);
    const real = beside(path, file);
    return [{ ...common, path: real, at: locate(process, real), reload }];
  };
  const keys = use(found.user, 'client-key', { role: 'API client key', kind: 'key' });
  const keyAt = keys[0]?.embedded ? `${at}#client-key` : keys[0]?.at;
  return [
    ...use(found.cluster, 'certificate-authority', {
      ...{ role: 'API authorities', kind: 'authorities', parser: 'kube-ca', verifies: 'apiserver-serving' },
    }),
    ...use(found.user, 'client-certificate', {
      ...{ role: 'API client certificate', kind: 'certificate', presents: 'apiserver-client' },
      ...(keyAt !== undefined && { keyAt }),
    }),
    ...keys,
  ];
};

/** A port that a process serves on, and the channel whose certificate is shown there. */
export interface ServingPort {
  readonly component: Component;
  readonly pid: number;
  /** Of its inputs, the role of the certificate that is served there. */
  readonly role: 'serving certificate' | 'peer certificate';
  /** `ADDRESS:PORT` as the host itself reaches it. */
  readonly address: string;
}

const DEFAULT_PORTS: Readonly<Partial<Record<Component, string>>> = {
  'kube-apiserver': '6443',
  'kube-controller-manager': '10257',
  'kube-scheduler': '10259',
  kubelet: '10250',
};

/** The TLS ports of a process, by its flags. */
export const portsOf = ({ program, pid }: ComponentProcess, settings: Settings): readonly ServingPort[] => {
  if (program === 'etcd') {
    const urls = (flag: string, role: ServingPort['role']): readonly ServingPort[] =>
      (single(settings, flag) ?? '').split(',').flatMap((text) => {
        const url = URL.canParse(text) ? new URL(text) : undefined;
        if (url?.protocol !== 'https:') return [];
        const address = ownAddress(url.hostname.replace(/^\[|\]$/g, ''), url.port || '443');
        return [{ component: program, pid, role, address }];
      });
    return [
      ...urls('listen-client-urls', 'serving certificate').slice(0, 1),
      ...urls('listen-peer-urls', 'peer certificate').slice(0, 1),
    ];
  }
  const port = single(settings, program === 'kubelet' ? 'port' : 'secure-port') ?? DEFAULT_PORTS[program];
  if (port === undefined || port === '0') return [];
  const bind = single(settings, program === 'kubelet' ? 'address' : 'bind-address');
  return [{ component: program, pid, role: 'serving certificate', address: ownAddress(bind, port) }];
};
