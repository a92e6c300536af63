import { formatLeft } from '../core/duration.js';
import type { World } from '../trust/world.js';
import type { Change } from './change.js';
import { describeGate, modelGate, predictGate, type Gate } from './gate.js';
import { describeChange, hostOfChange, modelChange } from './index.js';

/** One line of a plan: a change to be made, or a gate that must hold before the run goes on. */
export type PlanEntry = (
  { readonly kind: 'change'; readonly change: Change } | { readonly kind: 'gate'; readonly gate: Gate }
) & {
  /** `1`, `2`, …: the order of the plan. */
  readonly id: string;
  /** The cookbook step it comes from. */
  readonly step: string;
  /** Entries of one section are applied under one holding of the lock; undefined: no lock. */
  readonly section: string | undefined;
};

/** Something a step saw and tells, without changing anything. */
export interface Finding {
  readonly severity: 'info' | 'warning' | 'critical';
  readonly host: string | undefined;
  /** What was seen; where it expires, what that is: the path of a certificate. */
  readonly text: string;
  readonly expires?: Expiry;
}

/** When something expires, and how long that is from when it was looked at. */
export interface Expiry {
  readonly notAfter: Date;
  /** Milliseconds; less than 0 when it has expired. */
  readonly leftMs: number;
}

/** A finding in one sentence, without its host. */
export const describeFinding = ({ text, expires }: Finding): string =>
  expires ? `${text}: ${formatLeft(expires.leftMs)} (${expires.notAfter.toISOString()})` : text;

export interface Plan {
  readonly cookbook: string;
  readonly entries: readonly PlanEntry[];
  readonly findings: readonly Finding[];
  /** The world that the plan is predicted to leave. */
  readonly predicted: World;
}

/** What an entry does, without its host. */
export const describeEntry = (entry: PlanEntry): string =>
  entry.kind === 'change' ? describeChange(entry.change) : describeGate(entry.gate);

export const hostOfEntry = (entry: PlanEntry): string | undefined =>
  entry.kind === 'change' ? hostOfChange(entry.change) : undefined;

/** What an entry makes of the world. Pure. */
export const modelEntry = (entry: PlanEntry, world: World): World =>
  entry.kind === 'change' ? modelChange(entry.change, world) : modelGate(entry.gate, world);

/** The changes of a plan, gates left out. */
export const changesOf = (plan: Plan): readonly Change[] =>
  plan.entries.flatMap((entry) => (entry.kind === 'change' ? [entry.change] : []));

/** A plan while it is being drawn up: each entry sees the world that the ones before it are predicted to leave. */
export class Draft {
  readonly entries: PlanEntry[] = [];
  readonly findings: Finding[] = [];
  #world: World;
  #step = '';

  constructor(world: World) {
    this.#world = world;
  }

  get world(): World {
    return this.#world;
  }

  /** Entries added from now on belong to this step. */
  startStep(name: string): void {
    this.#step = name;
  }

  change(change: Change, section?: string): void {
    this.entries.push({ kind: 'change', change, id: this.#nextId(), step: this.#step, section });
    this.#world = modelChange(change, this.#world);
  }

  /** Adds a gate. Whether the model predicts it to hold is judged with the whole plan, by `gateRefusals`. */
  gate(gate: Gate, section?: string): void {
    this.entries.push({ kind: 'gate', gate, id: this.#nextId(), step: this.#step, section });
    this.#world = modelGate(gate, this.#world);
  }

  finding(finding: Finding): void {
    this.findings.push(finding);
  }

  /** The finished plan. */
  finish(cookbook: string): Plan {
    return { cookbook, entries: this.entries, findings: this.findings, predicted: this.#world };
  }

  #nextId(): string {
    return String(this.entries.length + 1);
  }
}

/** Gates that the model predicts not to hold when the run comes to them. */
export const gateRefusals = (entries: readonly PlanEntry[], start: World): readonly PlanEntry[] => {
  let world = start;
  const refused: PlanEntry[] = [];
  for (const entry of entries) {
    if (entry.kind === 'gate' && !predictGate(entry.gate, world)) refused.push(entry);
    world = modelEntry(entry, world);
  }
  return refused;
};
