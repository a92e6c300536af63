import { existsSync } from 'node:fs';
import { run } from './shell.js';

/**
 * Each machine gets control groups of its own. Without them, on a machine that does not run systemd, all
 * hosts would share one tree: the kube-apiserver.service of one host would be that of the others too.
 */
const PARENT = 'certroll-lab';

/** Trees in which systemd keeps its units: one on a pure v2 machine, two on a hybrid one. */
const trees = (): string[] =>
  existsSync('/run/systemd/system')
    ? []
    : existsSync('/sys/fs/cgroup/cgroup.controllers')
      ? ['/sys/fs/cgroup']
      : ['/sys/fs/cgroup/systemd', '/sys/fs/cgroup/unified'].filter((tree) => existsSync(tree));

/** Shell script that moves itself into the host's groups and then becomes the command given as arguments. */
export const enterCgroupScript = (host: string): string =>
  [
    'set -e',
    ...trees().flatMap((tree) => {
      const group = `${tree}/${PARENT}/${host}`;
      return [`mkdir -p ${group}`, `echo $$ > ${group}/cgroup.procs`];
    }),
    'exec "$@"',
  ].join('\n');

/** Removes a host's groups, the innermost first. Nothing runs in them any more. */
export const removeCgroup = async (host: string): Promise<void> => {
  for (const tree of trees()) {
    const group = `${tree}/${PARENT}/${host}`;
    if (existsSync(group)) await run(['find', group, '-depth', '-type', 'd', '-exec', 'rmdir', '{}', ';']);
  }
};

/** Removes the parent of all groups, once the lab is down. */
export const removeCgroups = async (): Promise<void> => {
  for (const tree of trees()) {
    if (existsSync(`${tree}/${PARENT}`)) await run(['rmdir', `${tree}/${PARENT}`]);
  }
};
