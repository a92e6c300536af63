import type { ClusterFacts, AuditLimits } from '../../audit/facts.js';
import type { Failure, HostState } from '../../audit/inventory.js';
import { CertrollError, messageOf } from '../../core/errors.js';
import { fanOut } from '../../hosts/fan-out.js';
import type { Host } from '../../hosts/host.js';
import type { TrustObjects } from '../../kube/trust-objects.js';
import { lookAtEndpoints } from './endpoints.js';
import { lookAt, type LookOptions } from './look.js';

/** What an audit of a cluster needs of the outside, and how it is told. */
export interface AuditDoors {
  readonly cluster: string;
  readonly hosts: readonly {
    readonly name: string;
    readonly look: Omit<LookOptions, 'now' | 'progress'>;
  }[];
  /** Opens a host for as long as it is used, once there is room for one more. */
  withHost<T>(name: string, use: (host: Host) => Promise<T>): Promise<T>;
  /** The kids that the apiserver of a host says it verifies with. */
  jwks(name: string): Promise<readonly string[]>;
  /** The objects of the API, asked of the apiserver of a host. */
  objects(name: string): Promise<TrustObjects>;
}

export interface AuditOptions {
  readonly limits: AuditLimits;
  readonly now: () => Date;
  readonly progress: (text: string, host?: string) => void;
}

/** What keeps a part from being looked at is a finding; even a defect of certroll must not hide what else was seen. */
const failureOf = (host: string | undefined, thrown: unknown): Failure => {
  if (!(thrown instanceof CertrollError))
    return {
      ...{ host, text: `certroll itself failed on what it was told there: ${messageOf(thrown)}` },
      hint: 'This is a defect of certroll: please report it.',
    };
  return { host: thrown.host ?? host, text: messageOf(thrown), hint: thrown.hint };
};

/** No key list for us, or none at all: start times have to do, which is no fault of the cluster. */
const isNoList = (thrown: unknown): boolean =>
  thrown instanceof CertrollError && (thrown.code === 'kube.forbidden' || thrown.code === 'kube.answer');

/**
 * Looks at all hosts of a cluster and asks its apiservers for their keys. Changes nothing. A host that cannot be looked at
 * stops no other and is among the failures.
 */
export const auditCluster = async (doors: AuditDoors, options: AuditOptions): Promise<ClusterFacts> => {
  const { limits, now, progress } = options;
  const failures: Failure[] = [];
  const jwks = new Map<string, readonly string[]>();
  /** Apiservers that talk to us. */
  const answered: string[] = [];
  let done = 0;
  const looked = await fanOut(
    doors.hosts,
    async ({ name, look }): Promise<HostState | undefined> => {
      try {
        const state = await doors.withHost(name, async (host) =>
          lookAt(host, {
            ...look,
            now: () => now().getTime(),
            progress: (text) => progress(text, name),
          }),
        );
        if (state.processes.some(({ component }) => component === 'kube-apiserver')) {
          progress('asking its kube-apiserver for its keys', name);
          await doors
            .jwks(name)
            .then((kids) => {
              jwks.set(name, kids);
              answered.push(name);
            })
            .catch((thrown: unknown) => {
              if (isNoList(thrown)) answered.push(name);
              else failures.push(failureOf(name, thrown));
            });
        }
        return state;
      } catch (thrown) {
        failures.push(failureOf(name, thrown));
        return undefined;
      } finally {
        done += 1;
        progress(`looked at ${done} of ${doors.hosts.length} hosts of ${doors.cluster}`);
      }
    },
    // Whoever opens the hosts bounds how many there are at once.
    Infinity,
  );
  const [answering] = answered;
  progress(`asking for the objects of ${doors.cluster}`);
  const objects =
    answering === undefined
      ? undefined
      : await doors.objects(answering).catch((thrown: unknown) => {
          failures.push(failureOf(answering, thrown));
          return undefined;
        });
  const addresses = (objects?.bundles ?? []).flatMap(({ serves }) => serves ?? []);
  const endpoints =
    answering === undefined || addresses.length === 0
      ? undefined
      : await doors
          .withHost(answering, async (host) => lookAtEndpoints(host, addresses))
          .catch((thrown: unknown) => {
            failures.push(failureOf(answering, thrown));
            return undefined;
          });
  return {
    ...(objects && { objects }),
    ...(endpoints && { endpoints }),
    cluster: doors.cluster,
    now: now(),
    limits,
    hosts: looked.filter((state) => state !== undefined),
    failures,
    jwks,
  };
};
