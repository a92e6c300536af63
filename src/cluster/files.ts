import { accessSync, constants, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { whyUnreadable } from '../core/source-text.js';
import type { YamlPath } from '../core/yaml-document.js';

/** A file on the bastion that the cluster file names. */
export interface NamedFile {
  readonly path: YamlPath;
  /** Absolute. */
  readonly name: string;
  /** It holds a private key or another secret. */
  readonly isSecret: boolean;
}

/** Which values of the cluster file name files; `*` is any index. */
const FILES: ReadonlyMap<string, 'public' | 'secret'> = new Map([
  ['ssh.config', 'public'],
  ['ssh.identityFiles.*', 'secret'],
  ['ssh.knownHosts.*', 'public'],
  ['etcd.ca', 'public'],
  ['etcd.cert', 'public'],
  ['etcd.key', 'secret'],
  ['etcd.password.file', 'secret'],
  ['api.kubeconfig', 'public'],
  ['issuer.ca', 'public'],
  ['issuer.cert', 'public'],
  ['issuer.key', 'secret'],
  ['issuer.passphrase.file', 'secret'],
  ['issuer.authKey.file', 'secret'],
]);

const kindOf = (path: YamlPath): 'public' | 'secret' | undefined =>
  FILES.get(path.map((part) => (typeof part === 'number' ? '*' : part)).join('.'));

/** `~` is the home folder; a relative path starts at the cluster file. */
const absolute = (baseDir: string, path: string): string =>
  path === '~' || path.startsWith('~/') ? resolve(homedir(), path.slice(2)) : resolve(baseDir, path);

/** A copy of a cluster file, or of parts of one, in which every path of a file is absolute; and the list of those files. */
export const resolveFiles = <T>(
  file: T,
  baseDir: string,
): { readonly value: T; readonly named: readonly NamedFile[] } => {
  const named: NamedFile[] = [];
  const copy = (value: unknown, path: YamlPath): unknown => {
    if (Array.isArray(value)) return value.map((item, at) => copy(item, [...path, at]));
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [key, copy(item, [...path, key])]),
      );
    const kind = kindOf(path);
    if (kind === undefined || typeof value !== 'string') return value;
    const name = absolute(baseDir, value);
    named.push({ path, name, isSecret: kind === 'secret' });
    return name;
  };
  return { value: copy(file, []) as T, named };
};

/** Why a file cannot be used; undefined when it can. Nothing of it is read. */
export const problemWithFile = ({ name, isSecret }: NamedFile): string | undefined => {
  try {
    accessSync(name, constants.R_OK);
  } catch (thrown) {
    return `cannot read ${name}: ${whyUnreadable(thrown)}`;
  }
  const found = statSync(name);
  if (found.isDirectory()) return `cannot read ${name}: it is a folder`;
  if (isSecret && (found.mode & 0o077) !== 0) {
    const mode = (found.mode & 0o777).toString(8);
    return `${name} holds a secret and others can read it (mode ${mode}); chmod 600 ${name}`;
  }
  return undefined;
};
