import type { ServiceSpec } from '../host.js';
import { command } from './command.js';
import type { ServiceKind } from './kind.js';
import { PROCESS_LIBRARY } from './process.js';
import { staticPod } from './static-pod.js';
import { systemd } from './systemd.js';

const kinds: { readonly [K in ServiceSpec['kind']]: ServiceKind<Extract<ServiceSpec, { kind: K }>> } = {
  systemd,
  command,
  'static-pod': staticPod,
};

/** TypeScript cannot see that a spec and the kind looked up by it belong together; this is the one place that says so. */
export const serviceKind = (spec: ServiceSpec): ServiceKind<ServiceSpec> => kinds[spec.kind];

/** The shell functions that look at services, those of kinds that nobody asks for left out. */
export const serviceLibrary = (specs: readonly ServiceSpec[]): string =>
  [PROCESS_LIBRARY, ...new Set(specs.map((spec) => serviceKind(spec).library))].join('\n');
