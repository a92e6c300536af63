import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll } from 'vitest';
import type { Component } from '../../../src/audit/consumers.js';
import type { ClusterFacts } from '../../../src/audit/facts.js';
import { itemOf, type HostState, type ProcessState } from '../../../src/audit/inventory.js';
import { findingsOf } from '../../../src/audit/rules.js';
import { settingsOf, usesOf, type ComponentProcess } from '../../../src/audit/uses.js';
import type { LookedAt } from '../../../src/hosts/inspect.js';
import { DAY, TestPki, type TestCert } from '../../support/pki.js';

export const NOW = new Date();
export const STARTED = NOW.getTime() - 10 * DAY;
export const BEFORE = STARTED - DAY;
export const AFTER = STARTED + DAY;

/** Hosts as an audit has seen them, with certificates that openssl made. For the tests of this folder. */
export let pki: TestPki;
export const certs: Record<string, TestCert> = {};
/** Makes the certificates before the tests of a file, and removes them after. */
export const withCertificates = (): void => {
  beforeAll(async () => {
    pki = await TestPki.create();
    const make = async (name: string, options: Parameters<TestPki['certificate']>[1]): Promise<TestCert> =>
      (certs[name] = await pki.certificate(name, options));
    const ca = await make('ca', { ca: true });
    const other = await make('other', { ca: true });
    const middle = await make('middle', { ca: true, issuer: ca });
    await make('leaf', { issuer: ca, sans: ['IP:10.0.0.1'] });
    await make('deep', { issuer: middle });
    await make('foreign', { issuer: other });
    await make('old', {
      issuer: ca,
      from: new Date(NOW.getTime() - 9 * DAY),
      to: new Date(NOW.getTime() - DAY),
    });
    await make('over', {
      ...{ issuer: ca, sans: ['IP:10.0.0.1'] },
      ...{ from: new Date(NOW.getTime() - 9 * DAY), to: new Date(NOW.getTime() - DAY) },
    });
    await make('soon', {
      ...{ issuer: ca, from: new Date(NOW.getTime() - 85 * DAY), to: new Date(NOW.getTime() + 5 * DAY) },
    });
    // Of a life of two days half is left.
    await make('day', {
      ...{ issuer: ca, from: new Date(NOW.getTime() - DAY), to: new Date(NOW.getTime() + DAY) },
    });
    await make('early', { issuer: ca, from: new Date(NOW.getTime() + DAY) });
  }, 60_000);
  afterAll(() => pki.remove());
};

export const publicHalf = (keyFile: string): string =>
  execFileSync('openssl', ['pkey', '-in', keyFile, '-pubout']).toString();

export interface Given {
  readonly text?: string;
  readonly keyFile?: string;
  readonly changedAtMs?: number;
  readonly looked?: LookedAt;
  readonly mode?: number;
}

export const fileOf = ({ text = '', keyFile, changedAtMs = BEFORE, looked, mode = 0o600 }: Given): LookedAt =>
  looked ?? {
    ...{
      kind: 'file',
      mode,
      changedAtMs,
      mtimeMs: changedAtMs,
      uid: 0,
      gid: 0,
      owner: 'root',
      group: 'root',
      text,
    },
    ...(keyFile !== undefined && { publicKeyPem: publicHalf(keyFile) }),
  };

interface HostGiven {
  readonly component?: Component;
  /** Flag → what its file holds. */
  readonly files?: Readonly<Record<string, Given>>;
  readonly served?: string;
  readonly state?: Partial<ProcessState>;
  readonly host?: Partial<HostState>;
  readonly denied?: readonly string[];
}

/** A host with one process, whose flags name a file `/FLAG` each. */
export const host = (name: string, given: HostGiven): HostState => {
  const { component = 'kube-apiserver', files = {}, denied = [], served } = given;
  const flags = Object.keys(files);
  const process: ComponentProcess = {
    ...{ program: component, pid: 7, startedAtMs: STARTED, environment: new Map<string, string>() },
    argv: [component, ...flags.map((flag) => `--${flag}=/${flag}`)],
    ...{ user: 'kube', uid: 1, gid: 1, groups: [], root: '', cwd: '/' },
  };
  const address = '127.0.0.1:6443';
  return {
    ...{ name, role: 'node', clockOffsetMs: 0, unread: [], manifests: new Map() },
    processes: [
      {
        component,
        pid: 7,
        startedAtMs: STARTED,
        user: 'kube',
        changedFlags: [],
        advertised: [],
        ...given.state,
      },
    ],
    items: usesOf(process, settingsOf(process)).map((use) =>
      itemOf(use, {
        ...{ host: name, process, denied: new Set(denied), nowMs: NOW.getTime() },
        files: new Map(flags.map((flag) => [`/${flag}`, fileOf(files[flag] ?? {})])),
        ports: served === undefined ? [] : [{ component, pid: 7, role: 'serving certificate', address }],
        served: served === undefined ? [] : [{ address, certificates: served, authorities: [] }],
      }),
    ),
    ...given.host,
  };
};

export const facts = (hosts: readonly HostState[], more: Partial<ClusterFacts> = {}): ClusterFacts => ({
  ...{ cluster: 'prod', now: NOW, limits: { renewBeforeMs: 30 * DAY, clockSkewMs: 10_000 } },
  ...{ hosts, failures: [], jwks: new Map(), ...more },
});
export const found = (hosts: readonly HostState[], more?: Partial<ClusterFacts>): readonly string[] => [
  ...new Set(findingsOf(facts(hosts, more)).map(({ rule, severity }) => `${severity} ${rule}`)),
];
export const one = (given: HostGiven): readonly string[] => found([host('cp1', given)]);
export const pem = (...names: readonly string[]): string => names.map((name) => certs[name]!.pem).join('');
export const serving = (name: string, more: Given = {}): Readonly<Record<string, Given>> => ({
  'tls-cert-file': { text: pem(name), ...more },
  'tls-private-key-file': { keyFile: certs[name]!.keyFile },
});
