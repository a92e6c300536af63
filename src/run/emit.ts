import type { RunEvent } from '../report/events.js';

type WithoutTime<E> = E extends unknown ? Omit<E, 'at'> : never;

/** Tells what a run is doing; the time is added by whoever made this function. */
export type Emit = (event: WithoutTime<RunEvent>) => void;
