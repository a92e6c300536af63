import { CertrollError } from '../core/errors.js';
import type { RunResult } from './host.js';

/**
 * What must still be so on a host in the very moment in which a change is made there. Only the host itself can see to
 * that: no look from elsewhere lasts until the command has arrived.
 */
export interface Fence {
  /** Milliseconds for which the locks of the run can be counted on. */
  readonly leftMs: () => number;
  /** Path → SHA-256 of what was seen in it; undefined: no such file. Other files may be anything. */
  readonly sums?: ReadonlyMap<string, string | undefined>;
}

const STATUS = 75;
const LATE = 'certroll: too late';
const CHANGED = 'certroll: changed ';
const ABSENT = '-';

/** Arguments: SECONDS-since-the-epoch COUNT, then COUNT times PATH SHA256-or-hyphen, then COMMAND…. */
const SCRIPT = `
until=$1 count=$2
shift 2
while [ "$count" -gt 0 ]; do
  sum=$({ sha256sum <"$1"; } 2>/dev/null) || sum=${ABSENT}
  if [ "\${sum%% *}" != "$2" ]; then
    printf '${CHANGED}%s\\n' "$1" >&2
    exit ${STATUS}
  fi
  shift 2
  count=$((count - 1))
done
if [ "$(date +%s)" -ge "$until" ]; then
  echo '${LATE}' >&2
  exit ${STATUS}
fi
exec "$@"
`;

/**
 * The command, but not run any more once the host's clock is past that moment (milliseconds), nor when one of the files
 * is not what it was: a process that was stopped between its last look and the sending of a command would otherwise send
 * it long after the lock went to somebody else, or over what somebody else wrote.
 */
export const fence = (
  argv: readonly string[],
  untilMs: number,
  sums: Fence['sums'] = new Map(),
): readonly string[] => [
  ...['sh', '-c', SCRIPT, 'certroll', String(Math.floor(untilMs / 1000)), String(sums.size)],
  ...[...sums].flatMap(([path, sum]) => [path, sum ?? ABSENT]),
  ...argv,
];

/** Why a fenced command was not run; undefined when it was. */
export const fencedOff = (host: string, { exitCode, stderr }: RunResult): CertrollError | undefined => {
  if (exitCode !== STATUS) return undefined;
  if (stderr.includes(LATE)) return tooLate(host);
  const changed = stderr.split('\n').find((line) => line.startsWith(CHANGED));
  return changed === undefined ? undefined : changedMeanwhile(host, [changed.slice(CHANGED.length)]);
};

/** Whether this is the error of a command that its fence kept from being run. */
export const isFencedOff = (error: unknown): boolean =>
  error instanceof CertrollError && (error.code === 'lock.too-late' || error.code === 'host.changed');

export const tooLate = (host: string): CertrollError =>
  new CertrollError(`${host}: a change came too late to count on the lock, and was not made`, {
    code: 'lock.too-late',
    host,
    hint: 'certroll was held up (stopped, asleep, a stalled connection). Nothing was sent after it; run again.',
  });

/** Something else than this run has changed a host on which it was about to make a change. `what`: files, or other things. */
export const changedMeanwhile = (host: string, what: readonly string[]): CertrollError =>
  new CertrollError(`${host}: something else changed ${what.join(', ')} while this run was going on`, {
    code: 'host.changed',
    host,
    hint: 'Nothing of it was overwritten. Find out what else works on that host (puppet, confd, another operator); certroll status shows what it trusts now. Run again: it starts from what it finds then.',
  });
