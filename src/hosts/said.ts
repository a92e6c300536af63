import { CertrollError } from '../core/errors.js';
import { MARK } from './script-basics.js';

/** When the script was sent and when its answer had come, milliseconds by the bastion's clock. */
export interface RoundTrip {
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
}

/** The host's clocks as the script's first lines give them. */
export interface Clocks {
  readonly nowMs: number;
  readonly uptimeMs: number;
  readonly ticksPerSecond: number;
  readonly bootedAtMs: number;
}

/** What a script that reads a host said: its lines in words, and what its first and last line tell. */
export interface Said {
  readonly lines: readonly (readonly string[])[];
  readonly clocks: Clocks;
  readonly hostname: string;
  /** Host's clock minus the bastion's, milliseconds. */
  readonly clockOffsetMs: number;
}

/** A number that makes no sense where a time was to be: whoever says so is not the script. */
class NoTime extends Error {}

/** Runs what reads a script's answer. Throws `host.read` where that answer is not the script's. */
export const understood = <T>(host: string, read: () => T): T => {
  try {
    return read();
  } catch (thrown) {
    if (!(thrown instanceof NoTime)) throw thrown;
    throw new CertrollError(`${host} gave an answer that is not understood: ${thrown.message}`, {
      code: 'host.read',
      host,
      hint: 'Something else than the shell that was asked for answers there: look at the forced command and the profile of the user.',
    });
  }
};

/** The latest moment that a Date can be; a file system may keep later ones. */
const LAST_MS = 8.64e15;

/** Splits a script's output. Throws `host.read` when it is incomplete. */
export const readSaid = (host: string, output: string, { sentAtMs, receivedAtMs }: RoundTrip): Said => {
  const lines = output
    .split('\n')
    .flatMap((line) => (line.startsWith(`${MARK} `) ? [line.split(' ').slice(1)] : []));
  const [, startedAt, uptime, hostname] = lines.find(([kind]) => kind === 'start') ?? [];
  const [, hz, bootTime] = lines.find(([kind]) => kind === 'boot') ?? [];
  const [, finishedAt] = lines.find(([kind]) => kind === 'finish') ?? [];
  if (startedAt === undefined || finishedAt === undefined) {
    throw new CertrollError(`cannot read facts of ${host}: the answer is incomplete`, {
      code: 'host.read',
      host,
      hint: 'The host needs sh, coreutils and /proc. Try again; if it stays so, look at its disk and memory.',
    });
  }
  const clocks: Clocks = {
    nowMs: toMs(startedAt),
    uptimeMs: toMs(uptime),
    ticksPerSecond: Number(hz),
    bootedAtMs: bootTime === undefined ? NaN : toMs(bootTime),
  };
  // As NTP does: half of the way there against half of the way back, the script's own time left out.
  const clockOffsetMs = (clocks.nowMs - sentAtMs + (toMs(finishedAt) - receivedAtMs)) / 2;
  return { lines, clocks, hostname: decode(hostname).trim(), clockOffsetMs };
};

/**
 * When a process started, by the host's wall clock. The kernel gives the boot time in whole
 * seconds only; now minus uptime is exact to a tick, and is taken unless a container shows another
 * uptime than the one that ticks count from.
 */
export const startTime = (ticks: number, { nowMs, uptimeMs, ticksPerSecond, bootedAtMs }: Clocks): number => {
  const exactBoot = nowMs - uptimeMs;
  const boot = Math.abs(exactBoot - bootedAtMs) < 2000 ? exactBoot : bootedAtMs;
  const started = Math.round(boot + (ticks * 1000) / ticksPerSecond);
  if (Math.abs(started) <= LAST_MS) return started;
  throw new NoTime(`'${ticks}' is no start of a process`);
};

/** Milliseconds since the epoch; a moment that no Date can be is the last or the first that one can. */
export const toMs = (seconds: string | undefined): number => {
  const ms = Number(seconds) * 1000;
  if (Number.isNaN(ms)) throw new NoTime(`'${seconds ?? ''}' is no time`);
  return Math.min(LAST_MS, Math.max(-LAST_MS, ms));
};

/** What a word holds: `=` stands before what is plain, `.` before base64. */
export const decodeBytes = (word = ''): Buffer =>
  Buffer.from(word.slice(1), word.startsWith('=') ? 'latin1' : 'base64');
/** A text of its own: a part of what a host said would keep all of it in memory. */
export const decode = (word?: string): string => decodeBytes(word).toString();
