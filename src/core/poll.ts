import { setTimeout as delay } from 'node:timers/promises';

export interface PollOptions {
  /** Milliseconds in all. */
  readonly timeoutMs: number;
  /** Milliseconds between two looks. */
  readonly intervalMs?: number;
  readonly signal: AbortSignal;
}

/** Looks again and again until `look` gives something; undefined when the time is up. Throws the signal's reason when aborted. */
export const poll = async <T>(
  look: () => Promise<T | undefined>,
  options: PollOptions,
): Promise<T | undefined> => {
  const end = performance.now() + options.timeoutMs;
  for (;;) {
    options.signal.throwIfAborted();
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() >= end) return undefined;
    await pause(options.intervalMs ?? 500, options.signal);
  }
};

/** Waits; throws the signal's reason when aborted. */
export const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
  signal.throwIfAborted();
  if (ms <= 0) return;
  try {
    await delay(ms, undefined, { signal });
  } catch (thrown) {
    signal.throwIfAborted();
    throw thrown;
  }
};

/** How time passes for what waits: handed in, so that a simulated cluster can have a time of its own. */
export interface Timers {
  readonly poll: typeof poll;
  readonly pause: typeof pause;
}

export const realTimers: Timers = { poll, pause };
