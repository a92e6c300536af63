import { createHash } from 'node:crypto';
import type { FileFact, HostFacts, ServiceFact } from './host.js';
import { decode, decodeBytes, readSaid, startTime, toMs, type Clocks, type RoundTrip } from './said.js';
import { startCommand } from './systemd-command.js';
import { noFile, unreadable } from './unreadable.js';

export { factsScript } from './facts-script.js';

/**
 * Reads the output of `factsScript`. Throws `host.read` when a file or service could not be read
 * (which is not the same as absent), and when the output is incomplete.
 */
export const parseFacts = (
  host: string,
  output: string,
  { sentAtMs, receivedAtMs }: RoundTrip,
): HostFacts => {
  const { lines, clocks, hostname, clockOffsetMs } = readSaid(host, output, { sentAtMs, receivedAtMs });
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
  return { clockOffsetMs, hostname, files, services, freeBytes };
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
