import type { Problem, YamlDocument, YamlPath } from '../core/yaml-document.js';
import type { ServiceSpec } from '../hosts/host.js';
import type { ClusterFile } from './schema.js';

/** What the cluster file calls the services of a control plane. */
const KEYS = { 'kube-apiserver': 'apiserver', 'kube-controller-manager': 'controllerManager' } as const;

// Not `${NAME}`, nor the braces of a shell or awk: a named command may hold those.
const PLACEHOLDER = /(?<!\$)\{([A-Za-z][\w-]*)\}/g;

export const fillIn = (word: string, host: string): string =>
  word.replace(PLACEHOLDER, (whole, name: string) => (name === 'host' ? host : whole));

/** How a service is found and restarted on a host; undefined when the cluster file says it is not there. */
export const serviceSpec = (
  cluster: Pick<ClusterFile, 'services'>,
  host: string,
  name: keyof typeof KEYS,
): ServiceSpec | undefined => {
  const service = cluster.services[KEYS[name]];
  if (service === false) return undefined;
  if ('systemd' in service) return { kind: 'systemd', unit: service.systemd };
  if ('staticPod' in service) return { kind: 'static-pod', manifest: service.staticPod, program: name };
  const { restart, pidFile } = service.command;
  return {
    kind: 'command',
    restart: restart.map((word) => fillIn(word, host)),
    pidFile: fillIn(pidFile, host),
  };
};

/** Placeholders that nothing would be put into. */
const unknownPlaceholders = (document: YamlDocument<Partial<ClusterFile>>): readonly Problem[] =>
  Object.values(KEYS).flatMap((key) => {
    const service = document.value.services?.[key];
    if (!service || !('command' in service)) return [];
    const { restart, pidFile } = service.command;
    const path: YamlPath = ['services', key, 'command'];
    const words = [
      ...restart.map((text, at) => ({ text, path: [...path, 'restart', at] })),
      { text: pidFile, path: [...path, 'pidFile'] },
    ];
    return words.flatMap((word) =>
      [...word.text.matchAll(PLACEHOLDER)]
        .filter(([, name]) => name !== 'host')
        .map(({ 0: whole, index }) => ({
          position: document.positionOf(word.path, index),
          message: `'${whole}' is not known here; {host} stands for the name of the host`,
        })),
    );
  });

/** One manifest for both: the file of one was written twice. */
const oneManifest = (document: YamlDocument<Partial<ClusterFile>>): readonly Problem[] => {
  const { apiserver, controllerManager } = document.value.services ?? {};
  if (!apiserver || !controllerManager || !('staticPod' in apiserver) || !('staticPod' in controllerManager))
    return [];
  if (apiserver.staticPod !== controllerManager.staticPod) return [];
  return [
    {
      position: document.positionOf(['services', 'controllerManager', 'staticPod']),
      message: `services.controllerManager.staticPod: ${apiserver.staticPod} is the manifest of kube-apiserver`,
    },
  ];
};

/** Everything about the services that the schema cannot say. */
export const problemsWithServices = (document: YamlDocument<Partial<ClusterFile>>): readonly Problem[] => [
  ...unknownPlaceholders(document),
  ...oneManifest(document),
];
