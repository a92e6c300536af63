import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuditReport } from '../../src/audit/report.js';
import { ROOT } from '../support/build.js';
import type { LoopbackFleet } from '../support/fleet.js';

/** End dates of certificates, milliseconds since the epoch, by host. */
export type Answers = ReadonlyMap<string, readonly number[]>;

/** A program that can tell the end dates of certificates on many hosts. */
export interface Tool {
  readonly name: string;
  /** How many hosts at once it is tried with, to find out what suits it. */
  readonly fanOuts: readonly number[];
  /** Its command line for the first hosts of a fleet; writes the files that it needs into a folder. */
  command(fleet: LoopbackFleet, size: number, fanOut: number, dir: string): Promise<readonly string[]>;
  /** What it found, by what it printed. */
  read(output: string, fleet: LoopbackFleet): Answers;
}

/** What the others run on each host. */
const remoteCommand = ({ certificates }: LoopbackFleet): string =>
  certificates.map((path) => `openssl x509 -noout -enddate -in ${path}`).join(' && ');

/** Collects `notAfter=…` by hosts. `hostOf` finds the host that a line begins or belongs to. */
const collect = (output: string, hostOf: (line: string) => string | undefined): Answers => {
  const answers = new Map<string, number[]>();
  let host = '';
  for (const line of output.split('\n')) {
    host = hostOf(line) ?? host;
    for (const [, date = ''] of line.matchAll(/notAfter=(\w+ +\d+ [\d:]+ \d+ GMT)/g))
      answers.set(host, [...(answers.get(host) ?? []), Date.parse(date)]);
  }
  return answers;
};

/** `HOST: line`, as clush and cumin print it. */
const byPrefix = (output: string): Answers => collect(output, (line) => /^(\S+): /.exec(line)?.[1]);

const certroll: Tool = {
  name: 'certroll',
  fanOuts: [4, 8, 16, 32],
  command: async (fleet, size, fanOut) => [
    ...[process.execPath, join(ROOT, 'bin/certroll.js'), 'audit', '--json'],
    ...['-c', await fleet.clusterFile(size), '--at-once', String(fanOut)],
  ],
  read: (output, { certificates }) => {
    const answers = new Map<string, number[]>();
    const { clusters } = JSON.parse(output === '' ? '{"clusters":[]}' : output) as AuditReport;
    for (const { host, path, onDisk } of clusters.flatMap(({ items }) => items)) {
      const [leaf] = onDisk.certificates;
      if (leaf && certificates.includes(path))
        answers.set(host, [...(answers.get(host) ?? []), Date.parse(leaf.notAfter)]);
    }
    return answers;
  },
};

const clush: Tool = {
  name: 'clush',
  fanOuts: [8, 16, 32, 64],
  command: (fleet, size, fanOut) =>
    Promise.resolve([
      ...['clush', '-w', fleet.expression(size), '-f', String(fanOut)],
      ...['-o', `-F ${fleet.path('ssh_config')}`, remoteCommand(fleet)],
    ]),
  read: byPrefix,
};

const cumin: Tool = {
  name: 'cumin',
  fanOuts: [8, 16, 32, 64],
  command: async (fleet, size, fanOut, dir) => {
    const config = join(dir, 'cumin.yaml');
    await writeFile(
      config,
      `transport: clustershell
log_file: ${join(dir, 'cumin.log')}
default_backend: direct
clustershell:
  fanout: ${fanOut}
  ssh_options: ['-F ${fleet.path('ssh_config')}']
`,
    );
    return [
      ...['cumin', '-c', config, '--force', '--no-progress', '-n', '-o', 'txt'],
      ...[fleet.expression(size), remoteCommand(fleet)],
    ];
  },
  // Before that it tells the same once more, for hosts that answer alike.
  read: (output) => byPrefix(output.split('_____FORMATTED_OUTPUT_____')[1] ?? ''),
};

const ansible: Tool = {
  name: 'ansible',
  fanOuts: [8, 16, 32, 64],
  command: async (fleet, size, fanOut, dir) => {
    await writeFile(join(dir, 'inventory'), `${fleet.hosts.slice(0, size).join('\n')}\n`);
    // One command a host: a connection that is kept for more would only cost.
    await writeFile(
      join(dir, 'ansible.cfg'),
      `[defaults]
inventory = ${join(dir, 'inventory')}
[ssh_connection]
ssh_args = -F ${fleet.path('ssh_config')} -o ControlMaster=no
usetty = False
`,
    );
    return ['ansible', 'all', '-f', String(fanOut), '-m', 'raw', '-a', remoteCommand(fleet)];
  },
  read: (output) => collect(output, (line) => /^(\S+) \| /.exec(line)?.[1]),
};

/** certroll first: the others are compared with it. */
export const TOOLS = [certroll, clush, cumin, ansible] as const;
