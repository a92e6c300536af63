import { constants } from 'node:os';
import { CertrollError } from '../core/errors.js';

/** What of a run is left behind when it ends at once, for people: nobody can give the locks back then. */
export const leftBehind = (locks: readonly string[], ttlSeconds: number): string =>
  `the change under way may be made or not, and what it holds of the locks ${locks.join(' and ')} ends by itself with its lease, ${ttlSeconds} s from now at the latest; run again to go on from here`;

/** What a user who stops a run is told. */
export interface StopTexts {
  /** Tells what the first signal does. */
  readonly say: (text: string) => void;
  /** Tells, as the last thing, what an end at once leaves behind. */
  readonly sayLast: (text: string) => void;
  /** What that is. */
  readonly left: string;
}

/** First signal: stop after the change under way. Second: at once, with the status that a shell gives to that signal. */
export const stopOnSignals = ({ say, sayLast, left }: StopTexts): AbortSignal => {
  const controller = new AbortController();
  const stop = (signal: NodeJS.Signals): void => {
    if (controller.signal.aborted) {
      sayLast(`${signal} again: ended at once; ${left}`);
      process.exit(128 + constants.signals[signal]);
    }
    say(
      `${signal}: stopping once the change under way is finished, and giving the lock back; again: at once`,
    );
    controller.abort(
      new CertrollError(`stopped by ${signal}`, {
        code: 'run.interrupted',
        hint: 'Nothing is lost: run again to go on from here.',
      }),
    );
  };
  process.on('SIGINT', stop).on('SIGTERM', stop).on('SIGHUP', stop);
  return controller.signal;
};
