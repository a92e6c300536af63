import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { CertrollError, EXIT, messageOf } from '../core/errors.js';
import { memo } from '../core/memo.js';

/** One line of a known_hosts file. */
interface Entry {
  readonly marker: 'key' | 'revoked' | 'cert-authority';
  readonly matches: (name: string) => boolean;
  readonly type: string;
  readonly key: Buffer;
}

/** What known_hosts files say of one host. */
export interface KnownKeys {
  /** Host keys that may be presented, and their types (`ssh-ed25519`, …). */
  readonly keys: readonly { readonly type: string; readonly key: Buffer }[];
  readonly revoked: readonly Buffer[];
  /** True when an authority that signs host certificates is named for the host. */
  readonly hasAuthority: boolean;
}

export type KeyVerdict = 'known' | 'unknown' | 'changed' | 'revoked';

/**
 * The entries of several known_hosts files, in OpenSSH's format: hashed names (`|1|salt|hash`),
 * wildcards, negation, `[host]:port`, `@revoked` and `@cert-authority`. ssh2 knows nothing of them.
 */
export class KnownHosts {
  readonly #entries: readonly Entry[];

  constructor(texts: readonly string[]) {
    this.#entries = texts.flatMap(parseFile);
  }

  /** Reads the files; one that does not exist has no entries. Throws `ssh.known-hosts` when one cannot be read. */
  static async read(paths: readonly string[]): Promise<KnownHosts> {
    return new KnownHosts(await Promise.all(paths.map(readIfExists)));
  }

  /**
   * What is known of a host at a port. As ssh does, a host without an entry for its own port
   * (`[host]:2222`) is looked up by its bare name.
   */
  lookup(host: string, port: number): KnownKeys {
    const name = host.toLowerCase();
    const found = this.#named(port === 22 ? name : `[${name}]:${port}`);
    if (port === 22 || found.keys.length > 0 || found.hasAuthority) return found;
    const bare = this.#named(name);
    return { ...bare, revoked: [...found.revoked, ...bare.revoked] };
  }

  #named(name: string): KnownKeys {
    const entries = this.#entries.filter((entry) => entry.matches(name));
    return {
      keys: entries.filter((entry) => entry.marker === 'key').map(({ type, key }) => ({ type, key })),
      revoked: entries.filter((entry) => entry.marker === 'revoked').map(({ key }) => key),
      hasAuthority: entries.some((entry) => entry.marker === 'cert-authority'),
    };
  }
}

/** Whether a presented key is one of a host's known ones. A revoked key is never good. */
export const judgeKey = (known: KnownKeys, presented: Buffer): KeyVerdict => {
  if (known.revoked.some((key) => key.equals(presented))) return 'revoked';
  if (known.keys.some(({ key }) => key.equals(presented))) return 'known';
  return known.keys.length > 0 ? 'changed' : 'unknown';
};

/** The fingerprint as ssh prints it: `SHA256:…`, unpadded base64. */
export const fingerprint = (key: Buffer): string =>
  `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`;

const readIfExists = async (path: string): Promise<string> => {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
      return '';
    throw new CertrollError(`cannot read known_hosts file ${path}: ${messageOf(error)}`, {
      code: 'ssh.known-hosts',
      exit: EXIT.usage,
      hint: 'Let the user that runs certroll read it, or name other files in ssh.knownHosts.',
      cause: error,
    });
  }
};

/** Of many hosts each looks into the same files. */
const parseFile = memo(16, (text): readonly Entry[] => text.split('\n').flatMap(parseLine));

/** An entry, or none for a comment and for what ssh passes over as broken. */
const parseLine = (line: string): Entry[] => {
  const words = line.trim().split(/[ \t]+/);
  const marker = words[0]?.startsWith('@') ? words.shift()?.slice(1) : 'key';
  const [names, type, base64] = words;
  if (
    names === undefined ||
    names === '' ||
    names.startsWith('#') ||
    type === undefined ||
    base64 === undefined
  )
    return [];
  if (marker !== 'key' && marker !== 'revoked' && marker !== 'cert-authority') return [];
  const key = Buffer.from(base64, 'base64');
  // The key names its own type inside; a line that contradicts itself is no key of that type.
  if (typeInside(key) !== type) return [];
  return [{ marker, matches: nameMatcher(names), type, key }];
};

const typeInside = (key: Buffer): string | undefined =>
  key.length < 4 ? undefined : key.subarray(4, 4 + key.readUInt32BE(0)).toString('latin1');

const nameMatcher = (names: string): ((name: string) => boolean) => {
  if (names.startsWith('|')) return hashMatcher(names);
  const patterns = names.split(',').map((text) => {
    const isNegated = text.startsWith('!');
    return { isNegated, pattern: (isNegated ? text.slice(1) : text).toLowerCase() };
  });
  // One negated match rules the whole line out, wherever it stands.
  return (name) => {
    const matching = patterns.filter(({ pattern }) => matchesPattern(pattern, name));
    return matching.length > 0 && matching.every(({ isNegated }) => !isNegated);
  };
};

const hashMatcher = (names: string): ((name: string) => boolean) => {
  const [, version, salt = '', hash = ''] = names.split('|');
  const expected = Buffer.from(hash, 'base64');
  return (name) => {
    if (version !== '1' || expected.length !== 20) return false;
    return timingSafeEqual(createHmac('sha1', Buffer.from(salt, 'base64')).update(name).digest(), expected);
  };
};

/**
 * OpenSSH's patterns know `*` and `?` only. Matched by hand, for a regular expression takes hours
 * over many stars: it is enough to retry from the last star, because an earlier one can gain nothing.
 */
const matchesPattern = (pattern: string, name: string): boolean => {
  let at = 0;
  let star = -1;
  let starAt = 0;
  for (let position = 0; position < name.length;) {
    if (pattern[at] === '*') {
      star = at++;
      starAt = position;
    } else if (pattern[at] === '?' || pattern[at] === name[position]) {
      at++;
      position++;
    } else if (star >= 0) {
      at = star + 1;
      position = ++starAt;
    } else {
      return false;
    }
  }
  return /^\**$/.test(pattern.slice(at));
};
