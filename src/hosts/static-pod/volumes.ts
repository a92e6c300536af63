import { posix } from 'node:path';
import type { Mount } from '../host.js';

const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);

/** The mount that a path of the container lies in: the innermost one. */
const mountOf = (mounts: readonly Mount[], path: string): Mount | undefined =>
  mounts.filter(({ inside }) => isWithin(path, inside)).sort((a, b) => b.inside.length - a.inside.length)[0];

/** Where a file of the container lies on the host; undefined when it lies in the container alone. */
export const hostPath = (mounts: readonly Mount[], path: string): string | undefined => {
  const inside = posix.normalize(path);
  const mount = mountOf(mounts, inside);
  return mount?.outside === undefined
    ? undefined
    : posix.join(mount.outside, inside.slice(mount.inside.length));
};

/** The mount by which a path of the host is seen in the container, if it is: the innermost one. */
export const mountOfHostPath = (mounts: readonly Mount[], path: string): Mount | undefined =>
  mounts
    .filter(({ outside }) => outside !== undefined && isWithin(path, outside))
    .sort((a, b) => (b.outside?.length ?? 0) - (a.outside?.length ?? 0))[0];

/** Whether a path leads to the same place in the container and on the host. */
export const isSeenAlike = (mounts: readonly Mount[], path: string): boolean =>
  hostPath(mounts, path) === path;

export interface HostArguments {
  /** The arguments with every absolute path that is mounted from the host as the host has it. */
  readonly argv: readonly string[];
  /** Absolute paths among them that are not of the host: files of the image, or no paths of files at all. */
  readonly foreign: readonly string[];
}

/**
 * Arguments of a process in a container, for whoever reads their files on the host. Only values that are absolute paths as a
 * whole are taken for paths; which flags name files is not known here.
 */
export const hostArguments = (mounts: readonly Mount[], argv: readonly string[]): HostArguments => {
  const foreign: string[] = [];
  const translate = (value: string): string => {
    if (!value.startsWith('/')) return value;
    const path = hostPath(mounts, value);
    if (path === undefined) foreign.push(value);
    // Kept as it is written where that is the same place: a slash more in one flag is no other file.
    return path === undefined || path === posix.normalize(value) ? value : path;
  };
  const [program = '', ...rest] = argv;
  const words = rest.map((word) => {
    const equals = word.startsWith('--') ? word.indexOf('=') : -1;
    if (equals >= 0) return word.slice(0, equals + 1) + translate(word.slice(equals + 1));
    return translate(word);
  });
  return { argv: argv.length === 0 ? [] : [program, ...words], foreign: [...new Set(foreign)] };
};
