import { existsSync } from 'node:fs';
import { chmod, chown, lchown, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { IDS, type LabUser } from './settings.js';

/** A file to be put on a host. */
export interface HostFile {
  readonly path: string;
  readonly content: string;
  readonly mode?: number;
  readonly owner?: LabUser;
  readonly group?: LabUser;
}

/** Puts a file under a host's root, whole or not at all. */
export const place = async (root: string, file: HostFile): Promise<void> => {
  const path = join(root, file.path);
  const half = `${path}.lab-new`;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(half, file.content, { mode: 0o600 });
  await chown(half, IDS[file.owner ?? 'root'], IDS[file.group ?? file.owner ?? 'root']);
  await chmod(half, file.mode ?? 0o644);
  await rename(half, path);
};

/** Turns a unit on as `systemctl enable` would, on a host that does not run yet. */
export const enable = async (root: string, unit: string): Promise<void> => {
  const wants = join(root, '/etc/systemd/system/multi-user.target.wants');
  const link = join(wants, unit);
  await mkdir(wants, { recursive: true });
  await rm(link, { force: true });
  const own = '/etc/systemd/system';
  // A unit of one of Debian's packages lies elsewhere.
  const folder = existsSync(join(root, own, unit)) ? own : '/lib/systemd/system';
  await symlink(`${folder}/${unit}`, link);
  await lchown(link, 0, 0);
};

/** A private key that the service account of that name may read, and nobody else. */
export const keyFile = (path: string, content: string, group: LabUser): HostFile => ({
  path,
  content,
  mode: 0o640,
  group,
});
