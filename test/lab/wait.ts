import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Asks again and again until `probe` gives something that is neither undefined nor false, and returns it.
 * After the deadline it throws, naming what was waited for and the last error seen.
 */
export const until = async <T>(
  what: string,
  seconds: number,
  probe: () => Promise<T | undefined | false>,
  everyMs = 200,
): Promise<T> => {
  const deadline = Date.now() + seconds * 1000;
  let last: unknown;
  for (;;) {
    try {
      const value = await probe();
      if (value !== undefined && value !== false) return value;
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline) {
      const because = last instanceof Error ? ` (last error: ${last.message})` : '';
      throw new Error(`Not within ${seconds} s: ${what}${because}`, { cause: last });
    }
    await sleep(everyMs);
  }
};

/** Seconds since `start` (from Date.now()), for messages. */
export const secondsSince = (start: number): string => ((Date.now() - start) / 1000).toFixed(1);
