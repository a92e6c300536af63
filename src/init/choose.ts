import { isIP } from 'node:net';
import { parseApiserverFlags, parseStartFiles, readFlags } from '../kube/flags.js';
import { controlPlanesOf, type SeenHost, type Survey } from './seen.js';

/** The port that its apiserver serves on, by its own flags. */
export const portOf = ({ apiserver }: SeenHost): number =>
  Number(
    readFlags(apiserver?.argv ?? [])
      .get('secure-port')
      ?.at(-1) ?? 6443,
  );

/** What apiservers are called inside of every cluster: what a certificate most likely carries. */
const USUAL = ['kubernetes.default.svc', 'kubernetes.default', 'kubernetes'];

/** Names, not addresses, that every apiserver's certificate carries, the usual ones first. */
export const commonNames = (hosts: readonly SeenHost[]): readonly string[] => {
  const lists = hosts.flatMap(({ servedNames }) => (servedNames === undefined ? [] : [servedNames]));
  const [first = []] = lists;
  const common = first.filter((name) => isIP(name) === 0 && lists.every((names) => names.includes(name)));
  return [
    ...USUAL.filter((name) => common.includes(name)),
    ...common.filter((name) => !USUAL.includes(name)).sort(),
  ];
};

const isLoopback = (hostname: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);

const normal = (text: string): string => text.replace(/\/+$/, '');

const byNumber = new Intl.Collator('en', { numeric: true });

/**
 * Where etcd is reached: what apiservers are told (`--etcd-servers`), where that leads away from their own host; else what
 * etcd there tells its clients. A member that only its own host reaches is left out, and told by `isLost`.
 */
export const etcdEndpoints = (
  hosts: readonly SeenHost[],
): { readonly urls: readonly string[]; readonly lost: readonly string[] } => {
  const urls = new Set<string>();
  const lost: string[] = [];
  for (const host of hosts) {
    for (const text of parseStartFiles(host.apiserver?.argv ?? []).etcdServers) {
      if (!URL.canParse(text)) continue;
      const isOwn = isLoopback(new URL(text).hostname) && !isLoopback(host.address);
      if (!isOwn) {
        urls.add(normal(text));
        continue;
      }
      const told = host.etcdClientUrls.filter(
        (url) => URL.canParse(url) && !isLoopback(new URL(url).hostname),
      );
      if (told.length === 0) lost.push(`${host.name}: ${text}`);
      for (const url of told) urls.add(normal(url));
    }
  }
  return { urls: [...urls].sort((one, other) => byNumber.compare(one, other)), lost };
};

export type Mode = 'per-host' | 'shared' | 'mixed' | 'unknown';

/** Whether all sign with one key, each with its own, or neither. */
export const modeOf = (hosts: readonly SeenHost[]): Mode => {
  const kids = hosts.map(({ signingKid }) => signingKid);
  if (kids.length === 0 || kids.includes(undefined)) return 'unknown';
  const distinct = new Set(kids).size;
  if (distinct === kids.length) return 'per-host';
  return distinct === 1 ? 'shared' : 'mixed';
};

/** Verification files that can take the published keys, of each host; see `KeyLayout.bundleFile`. */
export const freeKeyFiles = ({ apiserver }: SeenHost): readonly string[] => {
  const { keyFiles, signingKeyFile } = parseApiserverFlags(apiserver?.argv ?? []);
  const own = signingKeyFile?.replace(/\.(key|pem)$/, '.crt');
  return keyFiles.filter((path) => path !== signingKeyFile && path !== own);
};

/** A cluster's name in the form that the cluster file wants. */
const sane = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');

/** What to call the cluster where nobody said: by the kubeconfig, else by the domain of its hosts. */
export const nameFor = (survey: Survey): { readonly value: string; readonly where: string } => {
  const fromKubeconfig = sane(survey.kubeconfigCluster ?? '');
  if (fromKubeconfig !== '')
    return { value: fromKubeconfig, where: 'the name of the cluster in the kubeconfig' };
  const [first] = controlPlanesOf(survey);
  const label = first && isIP(first.name) === 0 ? sane(first.name.split('.')[1] ?? '') : '';
  return label === ''
    ? { value: 'kubernetes', where: 'nothing named it' }
    : { value: label, where: 'the domain of its hosts' };
};
