import { createHash } from 'node:crypto';
import type { FactRequest, FileFact, HostFacts, NotShared } from './host.js';
import { decode, decodeBytes, readSaid, toMs, type RoundTrip } from './said.js';
import { serviceKind } from './services/index.js';
import type { SaidOfService } from './services/kind.js';
import { noFile, unreadable } from './unreadable.js';

export { factsScript } from './facts-script.js';

/** Lines about a service, which its kind reads. */
const SERVICE_LINES: ReadonlySet<string> = new Set(['stopped', 'running', 'start_with', 'pod', 'manifest']);

/**
 * Reads the output of `factsScript`. Throws `host.read` when a file or service could not be read
 * (which is not the same as absent), and when the output is incomplete.
 */
export const parseFacts = (
  host: string,
  request: FactRequest,
  output: string,
  { sentAtMs, receivedAtMs }: RoundTrip,
): HostFacts => {
  const { lines, clocks, hostname, clockOffsetMs } = readSaid(host, output, { sentAtMs, receivedAtMs });
  const files = new Map<string, FileFact>();
  const said = new Map<string, SaidOfService[]>();
  const freeBytes = new Map<string, number>();
  const notShared: NotShared[] = [];
  for (const [kind, name, ...words] of lines) {
    const key = decode(name);
    if (kind === 'unreadable') throw unreadable(host, key, decode(words[0]));
    if (kind === 'no_file') throw noFile(host, key, decode(words[0]));
    if (kind === 'absent') files.set(key, { exists: false, path: key });
    if (kind === 'public' || kind === 'private') files.set(key, fileFact(kind, key, words));
    if (SERVICE_LINES.has(kind ?? '')) said.set(key, [...(said.get(key) ?? []), { kind: kind ?? '', words }]);
    if (kind === 'other_folder') notShared.push({ path: key, leadsTo: undefined });
    if (kind === 'leads_out') notShared.push({ path: key, leadsTo: decode(words[0]) });
    if (kind === 'space') freeBytes.set(key, Number(words[0]) * Number(words[1]));
  }
  const services = Object.entries(request.services ?? {}).map(
    ([key, spec]) => [key, serviceKind(spec).read(said.get(key) ?? [], clocks, spec)] as const,
  );
  return { clockOffsetMs, hostname, files, services: new Map(services), freeBytes, notShared };
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
