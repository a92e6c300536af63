import { CertrollError, EXIT } from '../core/errors.js';

/** First signal: stop after the change under way. Second: at once. `say` is told what happens. */
export const stopOnSignals = (say: (text: string) => void): AbortSignal => {
  const controller = new AbortController();
  const stop = (signal: NodeJS.Signals): void => {
    if (controller.signal.aborted) process.exit(EXIT.failed);
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
