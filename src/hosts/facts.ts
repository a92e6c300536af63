import { createHash } from 'node:crypto';
import { CertrollError } from '../core/errors.js';
import { MARK } from './facts-script.js';
import type { FileFact, HostFacts, ServiceFact } from './host.js';
import { startCommand } from './systemd-command.js';
import { noFile, unreadable } from './unreadable.js';

export { factsScript } from './facts-script.js';

/** When the script was sent and when its answer had come, milliseconds by the bastion's clock. */
export interface RoundTrip {
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
}

/** The host's clocks as the script's first line gives them. */
interface Clocks {
  readonly nowMs: number;
  readonly uptimeMs: number;
  readonly ticksPerSecond: number;
  readonly bootedAtMs: number;
}

/**
 * Reads the output of `factsScript`. Throws `host.read` when a file or service could not be read
 * (which is not the same as absent), and when the output is incomplete.
 */
export const parseFacts = (
  host: string,
  output: string,
  { sentAtMs, receivedAtMs }: RoundTrip,
): HostFacts => {
  const lines = output
    .split('\n')
    .flatMap((line) => (line.startsWith(`${MARK} `) ? [line.split(' ').slice(1)] : []));
  const [, startedAt, uptime, hz, bootTime, hostname] = lines.find(([kind]) => kind === 'start') ?? [];
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
    bootedAtMs: toMs(bootTime),
  };
  const files = new Map<string, FileFact>();
  const services = new Map<string, ServiceFact>();
  const freeBytes = new Map<string, number>();
  for (const [kind, name, ...words] of lines) {
    const key = decode(name);
    if (kind === 'unreadable') throw unreadable(host, key, decode(words[0]));
    if (kind === 'no_file') throw noFile(host, key, decode(words[0]));
    if (kind === 'absent') files.set(key, { exists: false, path: key });
    if (kind === 'public' || kind === 'private') files.set(key, fileFact(kind, key, words));
    if (kind === 'stopped') services.set(key, { running: false, detail: decode(words[0]) });
    if (kind === 'running') services.set(key, serviceFact(words, clocks));
    if (kind === 'start_with') {
      const [execStart = '', environment = '', environmentFiles = ''] = words.map(decode);
      const found = services.get(key);
      const nextArgv = startCommand({ execStart, environment, environmentFiles });
      if (found?.running === true && nextArgv) services.set(key, { ...found, nextArgv });
    }
    if (kind === 'space') freeBytes.set(key, Number(words[0]) * Number(words[1]));
  }
  // As NTP does: half of the way there against half of the way back, the script's own time left out.
  const clockOffsetMs = (clocks.nowMs - sentAtMs + (toMs(finishedAt) - receivedAtMs)) / 2;
  return { clockOffsetMs, hostname: decode(hostname).trim(), files, services, freeBytes };
};

const fileFact = (kind: 'public' | 'private', path: string, words: readonly string[]): FileFact => {
  const [mode, mtime, ctime, owner, group, ...rest] = words;
  const mtimeMs = toMs(mtime);
  const common = {
    exists: true as const,
    path,
    mode: Number.parseInt(mode ?? '', 8),
    owner: decode(owner).trim(),
    group: decode(group).trim(),
    changedAtMs: Math.max(mtimeMs, toMs(ctime)),
    mtimeMs,
  };
  if (kind === 'public') {
    const bytes = decodeBytes(rest[0]);
    return { ...common, sha256: createHash('sha256').update(bytes).digest('hex'), content: bytes.toString() };
  }
  const publicKeyPem = decode(rest[1]);
  return { ...common, sha256: rest[0] ?? '', ...(publicKeyPem === '' ? {} : { publicKeyPem }) };
};

const serviceFact = ([pid, ticks, user, argv]: readonly string[], clocks: Clocks): ServiceFact => ({
  running: true,
  pid: Number(pid),
  startTicks: Number(ticks),
  startedAtMs: startTime(Number(ticks), clocks),
  // Each argument ends with NUL; an empty last argument is one too.
  argv: decode(argv).replace(/\0$/, '').split('\0'),
  user: decode(user),
});

/**
 * When a process started, by the host's wall clock. The kernel gives the boot time in whole
 * seconds only; now minus uptime is exact to a tick, and is taken unless a container shows another
 * uptime than the one that ticks count from.
 */
const startTime = (ticks: number, { nowMs, uptimeMs, ticksPerSecond, bootedAtMs }: Clocks): number => {
  const exactBoot = nowMs - uptimeMs;
  const boot = Math.abs(exactBoot - bootedAtMs) < 2000 ? exactBoot : bootedAtMs;
  return Math.round(boot + (ticks * 1000) / ticksPerSecond);
};

const toMs = (seconds: string | undefined): number => Number(seconds) * 1000;
const decodeBytes = (word = ''): Buffer => Buffer.from(word.slice(1), 'base64');
const decode = (word?: string): string => decodeBytes(word).toString();
