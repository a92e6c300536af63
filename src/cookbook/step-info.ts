import type { z } from 'zod';

/** What of a step the language must know; the steps themselves are handed in. */
export interface StepInfo {
  readonly summary: string;
  readonly withSchema: z.ZodType;
  readonly outputs: readonly string[];
  /** May be a `finally` step: it does no harm after a failure. Default: no. */
  readonly isFinal?: boolean;
}

/** Every step that a cookbook may use, by the name it uses it with. */
export type StepInfos = ReadonlyMap<string, StepInfo>;
