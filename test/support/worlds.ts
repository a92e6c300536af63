import { Draft, type Plan } from '../../src/changes/plan.js';
export { provenPlan as proven } from '../../src/run/prove-all.js';
import type { Site } from '../../src/steps/step.js';
import { stepCatalog } from '../../src/steps/catalog.js';
import type { FileState, HostState, KeyRef, ServiceState, World } from '../../src/trust/world.js';

export const SIGNING = '/etc/kubernetes/pki/sa.key';
export const CERTIFICATE = '/etc/kubernetes/pki/sa.crt';
export const BUNDLE = '/etc/kubernetes/pki/sa-verification-keys.pem';
const NOW = new Date('2026-01-01T00:00:00Z');

export const file = (given: Partial<FileState>): FileState => ({
  verificationKeys: [],
  problems: [],
  ...given,
});

/** A control plane that signs with `signs` and verifies with `verifies`, on disk and in memory. */
export const controlPlane = (name: string, signs: KeyRef, verifies: readonly KeyRef[]): HostState => {
  const apiserver: ServiceState = {
    service: 'kube-apiserver',
    signingFile: SIGNING,
    verificationFiles: [CERTIFICATE, BUNDLE],
    loaded: { signs, verifies, how: 'jwks' },
  };
  const controllerManager: ServiceState = {
    service: 'kube-controller-manager',
    signingFile: SIGNING,
    verificationFiles: [],
    loaded: { signs, verifies: [], how: 'process-start' },
  };
  return {
    name,
    files: new Map([
      [SIGNING, file({ signingKey: signs })],
      [
        CERTIFICATE,
        file({
          verificationKeys: [signs],
          certificate: { key: signs, notAfter: new Date('2027-01-01T00:00:00Z') },
        }),
      ],
      [BUNDLE, file({ verificationKeys: verifies })],
    ]),
    services: new Map([
      ['kube-apiserver', apiserver],
      ['kube-controller-manager', controllerManager],
    ]),
  };
};

export const world = (hosts: readonly HostState[], more: Partial<World> = {}): World => ({
  cluster: 'test',
  now: NOW,
  hosts: new Map(hosts.map((host) => [host.name, host])),
  keys: new Map(),
  rotation: undefined,
  publicKeys: new Map(),
  tokenLife: { maxMs: 365 * 86_400_000, why: 'extended tokens' },
  ...more,
});

/** The fault: each control plane signs with its own key and verifies with that one only. */
export const faultyWorld = (names: readonly string[] = ['cp1', 'cp2', 'cp3']): World =>
  world(names.map((name) => controlPlane(name, `key of ${name}`, [`key of ${name}`])));

/** Every control plane signs with its own key and verifies with all. */
export const soundWorld = (names: readonly string[] = ['cp1', 'cp2', 'cp3']): World =>
  world(
    names.map((name) =>
      controlPlane(
        name,
        `key of ${name}`,
        names.map((other) => `key of ${other}`),
      ),
    ),
  );

export const PUBLIC_KEYS = '/etc/kubernetes/pki/sa.pub';

/**
 * kubeadm's layout: one key for all, without a certificate; the one file that verifies holds its public half and takes what is
 * published.
 */
export const kubeadmWorld = (names: readonly string[] = ['cp1', 'cp2', 'cp3'], key = 'shared key'): World =>
  world(
    names.map((name) => {
      const host = controlPlane(name, key, [key]);
      const apiserver = host.services.get('kube-apiserver') as ServiceState;
      const pod: ServiceState = { ...apiserver, verificationFiles: [PUBLIC_KEYS], definition: 'manifest' };
      return {
        ...host,
        files: new Map([
          [SIGNING, file({ signingKey: key, verificationKeys: [key] })],
          [PUBLIC_KEYS, file({ verificationKeys: [key] })],
        ]),
        services: new Map(host.services).set('kube-apiserver', pod),
      };
    }),
  );

export const site = (of: World, more: Partial<Site> = {}): Site => ({
  hosts: [...of.hosts.keys()],
  mode: 'per-host',
  algorithm: 'rsa-2048',
  certified: true,
  renewBeforeMs: 30 * 86_400_000,
  jwksMaxAgeMs: 0,
  bundle: undefined,
  certificate: undefined,
  runId: 'run-1',
  ...more,
});

export const ROTATION = [
  'sa-keys/issue',
  'sa-keys/publish',
  'apiserver/restart',
  'sa-keys/accepted',
  'sa-keys/promote',
  'sa-keys/soak',
];

/** Plans the named steps one after the other, each on what the ones before it are predicted to leave. */
export const planSteps = (
  start: World,
  steps: readonly (string | readonly [name: string, settings: object])[],
  given: Partial<Site> = {},
): Plan => {
  const draft = new Draft(start);
  for (const each of steps) {
    const [name, settings] = typeof each === 'string' ? [each, {}] : each;
    const step = stepCatalog.get(name);
    if (!step) throw new Error(`no step ${name}`);
    draft.startStep(name);
    step.plan(draft, step.withSchema.parse(settings), site(start, given));
  }
  return draft.finish('test');
};
