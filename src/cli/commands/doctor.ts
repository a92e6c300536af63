import { InvalidArgumentError, Option, type Command } from 'commander';
import { clusterOption, jsonOption } from '../options.js';

export interface DoctorFlags {
  readonly cluster: string;
  readonly json?: boolean;
  readonly atOnce: number;
}

const count = (text: string): number => {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 256) return value;
  throw new InvalidArgumentError('Write a whole number from 1 to 256.');
};

export const addDoctorCommand = (root: Command): void => {
  root
    .command('doctor')
    .summary('check everything a run or an audit needs, and say how to mend it')
    .description(
      'Checks this machine (keys, certificates, clock), each host (name, host key, login, sudo, programs, services, files), etcd (each member, rights), the API (each apiserver at its own address, RBAC) and the issuer. Changes nothing anywhere: what may be written is asked by a transaction that never takes place (etcd) and by SelfSubjectAccessReviews, which are stored nowhere. A host key is shown, never accepted.',
    )
    .addOption(clusterOption())
    .addOption(jsonOption())
    .addOption(
      new Option('--at-once <hosts>', 'hosts that are looked at at the same time')
        .argParser(count)
        .default(16),
    )
    .addHelpText(
      'after',
      `
Exit status: 0 all fine · 1 something would stop a run · 2 the cluster file is wrong · 3 warnings only

Examples:
  certroll doctor -c prod.yaml
  certroll doctor -c prod.yaml --json | jq '.groups[].checks[] | select(.state == "failed")'`,
    )
    .action(async (flags: DoctorFlags) => {
      const { showDoctor } = await import('../show-doctor.js');
      process.exitCode = await showDoctor(flags);
    });
};
