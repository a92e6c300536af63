/** One line of a plan, as it is shown. */
export interface ShownEntry {
  readonly id: string;
  readonly step: string;
  readonly kind: 'change' | 'gate';
  readonly host?: string;
  readonly text: string;
}

/** What a run tells while it goes on. */
export type RunEvent = { readonly at: Date } & (
  | { readonly type: 'phase'; readonly name: 'observe' | 'plan' | 'prove' | 'apply' | 'verify' }
  | { readonly type: 'plan'; readonly entries: readonly ShownEntry[] }
  | {
      readonly type: 'entry';
      readonly id: string;
      readonly state: 'started' | 'done' | 'failed' | 'waiting';
      readonly host?: string;
      readonly text: string;
      readonly detail?: string;
    }
  | { readonly type: 'progress'; readonly id?: string; readonly host?: string; readonly text: string }
  | {
      readonly type: 'lock';
      readonly state: 'waiting' | 'acquired' | 'released';
      readonly name: string;
      readonly holder?: string;
    }
  | { readonly type: 'note'; readonly level: 'info' | 'warning'; readonly text: string }
);

/** Something that shows what a run is doing. */
export interface Reporter {
  show(event: RunEvent): void;
  /** Leaves the terminal as it was found; the next event takes it up again. */
  end(): void;
}
