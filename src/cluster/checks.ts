import { parseDuration } from '../core/duration.js';
import { suggest } from '../core/suggest.js';
import type { Problem, YamlParts, YamlPath } from '../core/yaml-document.js';
import type { ClusterFile } from './schema.js';

type Document = YamlParts<ClusterFile>;

const at = (document: Document, path: YamlPath, message: string): Problem => ({
  position: document.positionOf(path),
  message,
});

/** What each duration may be. Node's timers fire at once beyond 24 days; nothing here waits longer than a day. */
const DURATIONS: readonly (readonly [
  section: keyof ClusterFile,
  key: string,
  least: string,
  most: string,
])[] = [
  ['ssh', 'connectTimeout', '1s', '1h'],
  ['etcd', 'timeout', '100ms', '10m'],
  ['api', 'timeout', '100ms', '10m'],
  ['lock', 'ttl', '5s', '10m'],
  ['lock', 'wait', '0s', '1d'],
  ['serviceAccounts', 'ttl', '1m', '36500d'],
  ['restart', 'readyTimeout', '1s', '1d'],
  ['restart', 'settle', '0s', '1d'],
  ['thresholds', 'renewBefore', '0s', '36500d'],
  ['thresholds', 'clockSkew', '0s', '1h'],
];

const durations = (document: Document): readonly Problem[] =>
  DURATIONS.flatMap(([section, key, least, most]) => {
    const text = (document.value[section] as Readonly<Record<string, unknown>> | undefined)?.[key];
    if (typeof text !== 'string') return [];
    const value = parseDuration(text);
    return value < parseDuration(least) || value > parseDuration(most)
      ? [at(document, [section, key], `${section}.${key}: expected ${least} to ${most}`)]
      : [];
  });

/** A new certificate that is due at once would be rotated by every run. */
const renewal = (document: Document): readonly Problem[] => {
  const { issuer, serviceAccounts, thresholds } = document.value;
  if (!issuer || !serviceAccounts || !thresholds) return [];
  if (['issuer', 'serviceAccounts', 'thresholds'].some((section) => document.flawed.has(section))) return [];
  if (issuer.type === 'none' || parseDuration(thresholds.renewBefore) < parseDuration(serviceAccounts.ttl))
    return [];
  return [
    at(
      document,
      ['thresholds', 'renewBefore'],
      `thresholds.renewBefore (${thresholds.renewBefore}) must be shorter than serviceAccounts.ttl (${serviceAccounts.ttl}), or every new certificate is due at once`,
    ),
  ];
};

/** Settings that mean nothing one without the other. */
const pairs = (document: Document): readonly Problem[] => {
  const { etcd, issuer } = document.value;
  const complain = (
    section: string,
    settings: Readonly<Record<string, unknown>> | undefined,
    one: string,
    other: string,
  ): readonly Problem[] => {
    if (!settings || document.flawed.has(section)) return [];
    const [has, lacks] = settings[one] === undefined ? [other, one] : [one, other];
    return settings[has] !== undefined && settings[lacks] === undefined
      ? [
          {
            position: document.keyPositionOf([section, has]),
            message: `${section}.${has} needs ${section}.${lacks} beside it`,
          },
        ]
      : [];
  };
  return [
    ...complain('etcd', etcd, 'cert', 'key'),
    ...complain('etcd', etcd, 'user', 'password'),
    ...(issuer?.type === 'cfssl' ? complain('issuer', issuer, 'cert', 'key') : []),
  ];
};

const endpoints = (document: Document): readonly Problem[] => {
  const list = document.value.etcd?.endpoints ?? [];
  return list.flatMap((text, index) => {
    const url = new URL(text);
    const complain = (message: string): readonly Problem[] => [
      at(document, ['etcd', 'endpoints', index], `etcd.endpoints: ${message}`),
    ];
    // A password in a URL would be printed with every error about it.
    if (url.username !== '' || url.password !== '')
      return complain('no user in the address; use etcd.user and etcd.password');
    if (url.pathname !== '/' || url.search !== '' || url.hash !== '')
      return complain('no path in the address');
    if (list.findIndex((other) => new URL(other).href === url.href) !== index) return complain('named twice');
    if (url.protocol !== new URL(list[0] ?? text).protocol) return complain('http and https cannot be mixed');
    return [];
  });
};

/** What is set for single hosts that are no control planes; nothing of it where it is not known which hosts are. */
const ports = (document: Document, controlPlanes: readonly string[]): readonly Problem[] =>
  Object.keys(document.value.api?.ports ?? {})
    .filter((name) => controlPlanes.length > 0 && !controlPlanes.includes(name))
    .map((name) => ({
      position: document.keyPositionOf(['api', 'ports', name]),
      message: [`api.ports: '${name}' is not a control plane`, suggest(name, controlPlanes)]
        .filter(Boolean)
        .join('; '),
    }));

/** Everything about single settings that the schema cannot say. */
export const problemsWithSettings = (
  document: Document,
  controlPlanes: readonly string[],
): readonly Problem[] => [
  ...durations(document),
  ...renewal(document),
  ...pairs(document),
  ...endpoints(document),
  ...ports(document, controlPlanes),
];
