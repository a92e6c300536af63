import { chooseReporter, emitTo } from './session.js';

/** Without a terminal, seconds between two lines: a long run must not look dead, nor fill a log. */
const EVERY_MS = 10_000;

/** What an audit is doing: live on a terminal, elsewhere a line now and then. */
export const auditProgress = async (): Promise<{
  readonly show: (text: string, host?: string) => void;
  readonly end: () => void;
}> => {
  const reporter = await chooseReporter({});
  const emit = emitTo(reporter);
  const isLive = process.stderr.isTTY;
  let last = Date.now();
  if (isLive) emit({ type: 'phase', name: 'observe' });
  return {
    show: (text, host) => {
      if (!isLive && (host !== undefined || Date.now() - last < EVERY_MS)) return;
      last = Date.now();
      emit({ type: 'progress', text, ...(host === undefined ? {} : { host }) });
    },
    end: () => reporter.end(),
  };
};
