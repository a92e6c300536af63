import { dirname } from 'node:path/posix';
import type { Doors } from '../changes/change.js';
import { changesOf, type Plan } from '../changes/plan.js';
import { CertrollError, EXIT } from '../core/errors.js';
import type { Observation } from './observe.js';
import { checkSameProcess } from './same-process.js';
import { checkStartable } from './startable.js';

export interface PreflightLimits {
  readonly clockSkewMs: number;
  readonly freeBytes: number;
}

const refuse = (host: string, code: string, text: string, hint: string): CertrollError =>
  new CertrollError(`${host}: ${text}`, { code, exit: EXIT.refused, host, hint });

/** Clocks and disks of the hosts, as they were observed. */
const checkHosts = async (
  plan: Plan,
  doors: Doors,
  observation: Observation,
  limits: PreflightLimits,
): Promise<void> => {
  for (const [name, offset] of observation.clockOffsetMs) {
    if (Math.abs(offset) <= limits.clockSkewMs) continue;
    throw refuse(
      name,
      'preflight.clock',
      `its clock is ${(offset / 1000).toFixed(1)} s off the bastion's (allowed: ${limits.clockSkewMs / 1000} s)`,
      'Certificates and tokens are judged by that clock. Set it right, then run again.',
    );
  }
  const folders = new Map<string, Set<string>>();
  for (const change of changesOf(plan)) {
    if (change.kind !== 'generate-key' && change.kind !== 'write-file') continue;
    folders.set(change.host, (folders.get(change.host) ?? new Set()).add(dirname(change.path)));
  }
  await Promise.all(
    [...folders].map(async ([name, paths]) => {
      const facts = await doors.host(name).readFacts({ freeSpaceOf: [...paths] });
      for (const [folder, free] of facts.freeBytes) {
        if (free >= limits.freeBytes) continue;
        throw refuse(
          name,
          'preflight.disk',
          `${folder} has ${free} bytes free, fewer than ${limits.freeBytes}`,
          'Make room there, then run again.',
        );
      }
    }),
  );
};

/**
 * What must be so before the first change: clocks, disk space, apiservers that answer for themselves, services that could
 * start again, an issuer that can issue, etcd with a quorum, ready apiservers.
 */
export const preflight = async (
  plan: Plan,
  doors: Doors,
  observation: Observation,
  limits: PreflightLimits,
  now: Date,
): Promise<void> => {
  if (plan.entries.length === 0) return;
  await checkHosts(plan, doors, observation, limits);
  await checkSameProcess(doors);
  await checkStartable(plan, doors);
  await doors.store.checkQuorum();
  const certifies = changesOf(plan).some(
    (change) => change.kind === 'write-file' && change.content.type === 'certificate',
  );
  if (certifies) await doors.issuer?.check(now);
  for (const name of doors.apiHosts) {
    const { ready, detail } = await doors.api(name).readyz();
    if (!ready) {
      throw refuse(
        name,
        'preflight.not-ready',
        `its kube-apiserver is not ready: ${detail}`,
        'Restarting another one now could leave none. Mend it first, then run again.',
      );
    }
  }
};
