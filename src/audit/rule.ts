import type { ClusterFacts } from './facts.js';

export const SEVERITIES = ['info', 'warning', 'critical'] as const;
export type Severity = (typeof SEVERITIES)[number];

export const isAtLeast = (one: Severity, other: Severity): boolean =>
  SEVERITIES.indexOf(one) >= SEVERITIES.indexOf(other);

/** What a rule found, at one place. */
export interface Hit {
  readonly host?: string;
  readonly component?: string;
  /** The file, port or object that it is about; with rule and host it names the finding from one audit to the next. */
  readonly subject: string;
  /** What is so, in a sentence without a full stop. */
  readonly text: string;
  /** Where it is not that of the rule. */
  readonly severity?: Severity;
}

/** One thing that can be wrong. `check` is pure. */
export interface Rule {
  /** Stable, for machines and for what silences alerts. */
  readonly id: string;
  readonly severity: Severity;
  /** Why it matters. */
  readonly why: string;
  /** What to do about it. */
  readonly action: string;
  readonly check: (facts: ClusterFacts) => readonly Hit[];
}

export interface Finding extends Hit {
  readonly rule: string;
  readonly severity: Severity;
  readonly why: string;
  readonly action: string;
}
