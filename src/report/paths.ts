import { posix } from 'node:path';

/** A text that may name files, and the host they are on. */
export interface HostText {
  readonly host?: string;
  readonly text: string;
}

const PATH = /(?<=^|\s)\/[^\s,;:]+/g;

/** Stands in a folder for the host's name, so that hosts with folders named for them have one in common. */
const HOST = '{host}';

const folderOf = (path: string, host: string | undefined): string => {
  const folder = posix.dirname(path);
  return host === undefined ? folder : folder.replaceAll(host, HOST);
};

/** The folder that most paths in the texts lie in, when leaving it out saves anything. */
export const commonFolder = (texts: readonly HostText[]): string | undefined => {
  const counts = new Map<string, number>();
  for (const { text, host } of texts) {
    for (const [path] of text.matchAll(PATH)) {
      const folder = folderOf(path, host);
      counts.set(folder, (counts.get(folder) ?? 0) + 1);
    }
  }
  const [most] = [...counts].sort((a, b) => b[1] - a[1]);
  return most && most[1] > 1 && most[0] !== '/' ? most[0] : undefined;
};

/** A text without that one folder; all others stay, so that a bare name is always a file of this one. */
export const withoutFolder = ({ text, host }: HostText, folder: string | undefined): string =>
  text.replaceAll(PATH, (path) => (folderOf(path, host) === folder ? posix.basename(path) : path));
