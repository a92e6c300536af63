import { foldHosts } from '../hosts/fold.js';
import { parseApiserverFlags } from '../kube/flags.js';
import type { ClusterFile } from '../cluster/schema.js';
import { commonNames, etcdEndpoints, modeOf, portOf } from './choose.js';
import { layoutOf } from './layout.js';
import { controlPlanesOf, type SeenHost, type Survey } from './seen.js';

/** Where a cluster file does not say what was seen. */
export interface Difference {
  readonly path: string;
  /** What the cluster file says. */
  readonly says: string;
  readonly seen: string;
}

/** What of a loaded cluster file is compared. */
export type Compared = Pick<ClusterFile, 'api' | 'etcd' | 'lock' | 'serviceAccounts' | 'services'> & {
  readonly hosts: { readonly controlPlanes: readonly string[] };
};

const namesOf = ({ name, aliases, address }: SeenHost): readonly string[] => [name, ...aliases, address];

const isCalled = (host: SeenHost, name: string): boolean =>
  namesOf(host).some((each) => each.toLowerCase() === name.toLowerCase());

const hostDifferences = (cluster: Compared, survey: Survey): readonly Difference[] => {
  const says = cluster.hosts.controlPlanes;
  const found = controlPlanesOf(survey);
  const more = found.filter((host) => !says.some((name) => isCalled(host, name)));
  const idle = survey.hosts.filter(
    (host) => host.apiserver === undefined && says.some((name) => isCalled(host, name)),
  );
  return [
    ...(more.length === 0
      ? []
      : [
          {
            path: 'controlPlanes.hosts',
            says: foldHosts(says),
            seen: `besides these, a kube-apiserver runs on ${foldHosts(more.map(({ name }) => name))}`,
          },
        ]),
    ...idle.map(({ name }) => ({
      path: 'controlPlanes.hosts',
      says: name,
      seen: 'no kube-apiserver runs there',
    })),
  ];
};

/** A URL by the host that it leads to, whatever that is called in it. */
const placeOf = (url: string, hosts: readonly SeenHost[]): string => {
  const { protocol, hostname, port } = new URL(url);
  const name = hostname.replace(/^\[|\]$/g, '');
  const host = hosts.find((each) => isCalled(each, name));
  return `${protocol}//${host?.address ?? name}:${port}`;
};

const etcdDifferences = ({ etcd }: Compared, survey: Survey): readonly Difference[] => {
  const seen = etcdEndpoints(controlPlanesOf(survey)).urls;
  if (seen.length === 0) return [];
  const places = (urls: readonly string[]): string =>
    JSON.stringify([...new Set(urls.map((url) => placeOf(url, survey.hosts)))].sort());
  return places(etcd.endpoints) === places(seen)
    ? []
    : [{ path: 'etcd.endpoints', says: etcd.endpoints.join(', '), seen: seen.join(', ') }];
};

const apiDifferences = ({ api, hosts }: Compared, survey: Survey): readonly Difference[] => {
  const found = controlPlanesOf(survey);
  const names = commonNames(found);
  const ports = found.flatMap((host) => {
    const name = hosts.controlPlanes.find((each) => isCalled(host, each)) ?? host.name;
    const says = api.ports?.[name] ?? api.port;
    const seen = portOf(host);
    const path = api.ports?.[name] === undefined ? 'api.port' : `api.ports.${name}`;
    return says === seen ? [] : [{ path, says: String(says), seen: `${seen} on ${host.name}` }];
  });
  const carried = found.every(
    ({ servedNames }) => servedNames === undefined || servedNames.includes(api.serverName),
  );
  return [
    ...ports,
    ...(carried
      ? []
      : [
          {
            path: 'api.serverName',
            says: api.serverName,
            seen: `not on the certificates of all apiservers; these are: ${names.slice(0, 6).join(', ') || 'none'}`,
          },
        ]),
  ];
};

const accountDifferences = ({ serviceAccounts }: Compared, survey: Survey): readonly Difference[] => {
  const found = controlPlanesOf(survey);
  const mode = modeOf(found);
  const { bundle } = serviceAccounts;
  const without = found.filter(
    ({ apiserver }) =>
      bundle !== undefined && !parseApiserverFlags(apiserver?.argv ?? []).keyFiles.includes(bundle),
  );
  return [
    ...(mode === 'unknown' || found.length < 2 || mode === serviceAccounts.mode
      ? []
      : [{ path: 'serviceAccounts.mode', says: serviceAccounts.mode, seen: `${mode}, by the signing keys` }]),
    ...(without.length === 0
      ? []
      : [
          {
            path: 'serviceAccounts.bundle',
            says: bundle ?? '',
            seen: `no --service-account-key-file on ${foldHosts(without.map(({ name }) => name))} names it`,
          },
        ]),
  ];
};

const serviceDifferences = ({ services }: Compared, survey: Survey): readonly Difference[] =>
  (['apiserver', 'controllerManager'] as const).flatMap((key): readonly Difference[] => {
    const says = services[key];
    // What a command of one's own starts looks like nothing else; that it runs was seen.
    if (says !== false && 'command' in says) return [];
    return controlPlanesOf(survey).flatMap((host) => {
      const process = host[key];
      const path = `services.${key}`;
      if (!process)
        return says === false
          ? []
          : [{ path, says: JSON.stringify(says), seen: `it does not run on ${host.name}` }];
      const layout = layoutOf(process);
      const text = layout
        ? JSON.stringify(layout.value)
        : `process ${process.pid} of no unit and no static pod`;
      return JSON.stringify(layout?.value) === JSON.stringify(says)
        ? []
        : [{ path, says: JSON.stringify(says), seen: `${text} on ${host.name}` }];
    });
  });

const lockDifferences = ({ lock }: Compared, { hosts }: Survey): readonly Difference[] => {
  const names = [...new Set(hosts.flatMap(({ lockNames }) => lockNames))];
  return names.length === 0 || names.includes(lock.name)
    ? []
    : [{ path: 'lock.name', says: lock.name, seen: `${names.join(', ')}, taken with etcdctl on the hosts` }];
};

/** Everything that a cluster file says otherwise than it was seen. What was not seen is no difference. Pure. */
export const differencesOf = (cluster: Compared, survey: Survey): readonly Difference[] => [
  ...hostDifferences(cluster, survey),
  ...etcdDifferences(cluster, survey),
  ...lockDifferences(cluster, survey),
  ...apiDifferences(cluster, survey),
  ...accountDifferences(cluster, survey),
  ...serviceDifferences(cluster, survey),
];
