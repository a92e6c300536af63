import { CertrollError } from '../core/errors.js';
import type { RunResult } from './host.js';

const STATUS = 75;
const MARK = 'certroll: too late';

/** Arguments: SECONDS-since-the-epoch COMMAND…. */
const SCRIPT = `
if [ "$(date +%s)" -ge "$1" ]; then
  echo '${MARK}' >&2
  exit ${STATUS}
fi
shift
exec "$@"
`;

/**
 * The command, but not run any more once the host's clock is past that moment (milliseconds): a process that was stopped
 * between its last look at a lock and the sending of a command would otherwise send it long after the lock went to
 * somebody else.
 */
export const fence = (argv: readonly string[], untilMs: number): readonly string[] => [
  ...['sh', '-c', SCRIPT, 'certroll', String(Math.floor(untilMs / 1000))],
  ...argv,
];

/** Whether a fenced command was not run because it came too late. */
export const isTooLate = ({ exitCode, stderr }: RunResult): boolean =>
  exitCode === STATUS && stderr.includes(MARK);

export const tooLate = (host: string): CertrollError =>
  new CertrollError(`${host}: a change came too late to count on the lock, and was not made`, {
    code: 'lock.too-late',
    host,
    hint: 'certroll was held up (stopped, asleep, a stalled connection). Nothing was sent after it; run again.',
  });
