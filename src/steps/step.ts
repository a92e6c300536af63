import type { z } from 'zod';
import type { Draft } from '../changes/plan.js';
import type { KeyAlgorithm } from '../hosts/host.js';

/**
 * A step of a cookbook: a planner. It looks at the draft's world and adds changes, gates and findings; it does no
 * I/O. Whatever can be applied is in the closed set of changes, so a new step needs no new machinery.
 */
export interface Step<W = unknown> {
  /** One line for `certroll cookbook show`. */
  readonly summary: string;
  readonly withSchema: z.ZodType<W>;
  readonly outputs: readonly string[];
  /** True when the step can add nothing but findings: a cookbook of such steps needs nobody's consent. */
  readonly reportsOnly?: boolean;
  /** What must be observed besides the hosts and the registry: only a cookbook with such a step needs the rights for it. */
  readonly observes?: readonly 'legacy-tokens'[];
  /** Returns the outputs. Throws `plan.refused` (exit 4) when the world does not allow the step. */
  plan(draft: Draft, given: W, site: Site): Readonly<Record<string, unknown>>;
}

/** What the cluster file says, as far as planning needs it. */
export interface Site {
  /** Hosts this step is limited to, in the order of the cluster file. */
  readonly hosts: readonly string[];
  readonly mode: 'per-host' | 'shared';
  readonly algorithm: KeyAlgorithm;
  /** True when new keys are to be certified. */
  readonly certified: boolean;
  readonly renewBeforeMs: number;
  /** How old a key list may be that verifiers outside of the cluster use; 0: there are none. */
  readonly jwksMaxAgeMs: number;
  /** `serviceAccounts.bundle` and `.certificate` of the cluster file. */
  readonly bundle: string | undefined;
  readonly certificate: string | undefined;
  /** Names the rotation that this run would begin. */
  readonly runId: string;
}
