import { existsSync } from 'node:fs';
import { run } from './shell.js';
import { until } from './wait.js';

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

/** Removes a group and those in it, the innermost first. A process that has just ended keeps its group for a moment. */
const remove = async (group: string): Promise<void> => {
  await until(`the control group ${group} is empty`, 60, async () => {
    if (existsSync(group)) await run(['find', group, '-depth', '-type', 'd', '-exec', 'rmdir', '{}', ';']);
    return !existsSync(group);
  });
};

/** Removes a host's groups. Nothing runs in them any more. */
export const removeCgroup = async (host: string): Promise<void> => {
  await Promise.all(trees().map((tree) => remove(`${tree}/${PARENT}/${host}`)));
};

/** Removes the parent of all groups, once the lab is down. */
export const removeCgroups = async (): Promise<void> => {
  await Promise.all(trees().map((tree) => remove(`${tree}/${PARENT}`)));
};
