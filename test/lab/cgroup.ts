import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './shell.js';
import { until } from './wait.js';

/**
 * Each machine gets control groups of its own. Without them, on a machine that does not run systemd, all
 * hosts would share one tree: the kube-apiserver.service of one host would be that of the others too.
 */
export interface ControlGroups {
  /** Name of the group that holds those of all hosts. */
  readonly parent: string;
  /** With groups in every controller's tree too: a kubelet makes groups in all of them. */
  readonly withControllers: boolean;
}

const ROOT = '/sys/fs/cgroup';

/** On a hybrid machine: the tree that systemd keeps its units in, twice, and one tree for each controller. */
const hybridTrees = ({ withControllers }: ControlGroups): string[] =>
  withControllers
    ? readdirSync(ROOT)
        .map((name) => join(ROOT, name))
        .filter((tree) => existsSync(join(tree, 'cgroup.procs')))
    : ['systemd', 'unified'].map((name) => join(ROOT, name)).filter((tree) => existsSync(tree));

/** Trees to make groups in: one on a pure v2 machine, none where the machine's own systemd sees to it. */
const trees = (groups: ControlGroups): string[] => {
  if (existsSync('/run/systemd/system')) return [];
  return existsSync(join(ROOT, 'cgroup.controllers')) ? [ROOT] : hybridTrees(groups);
};

/** A new group of the cpuset controller takes processes only once it has CPUs and memory. */
const fillCpuset = (tree: string, group: string): string[] =>
  ['cpuset.cpus', 'cpuset.mems']
    .filter((file) => existsSync(join(tree, file)))
    .map((file) => `cat ${tree}/${file} > ${group}/${file}`);

/** Shell script that moves itself into the host's groups and then becomes the command given as arguments. */
export const enterCgroupScript = (groups: ControlGroups, host: string): string =>
  [
    'set -e',
    ...trees(groups).flatMap((tree) => {
      const parent = `${tree}/${groups.parent}`;
      const group = `${parent}/${host}`;
      const fill = [...fillCpuset(tree, parent), ...fillCpuset(tree, group)];
      return [`mkdir -p ${group}`, ...fill, `echo $$ > ${group}/cgroup.procs`];
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
export const removeCgroup = async (groups: ControlGroups, host: string): Promise<void> => {
  await Promise.all(trees(groups).map((tree) => remove(`${tree}/${groups.parent}/${host}`)));
};

/** Removes the parent of all groups, once the lab is down. */
export const removeCgroups = async (groups: ControlGroups): Promise<void> => {
  await Promise.all(trees(groups).map((tree) => remove(`${tree}/${groups.parent}`)));
};
