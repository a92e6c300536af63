import { Command, InvalidArgumentError } from 'commander';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import buildOnce from '../support/build.js';
import { LoopbackFleet } from '../support/fleet.js';
import { compare } from './compare.js';
import { installTools } from './packages.js';
import { renderResults, shortcomings } from './table.js';
import { TOOLS } from './tools.js';

/** What certroll may take for 500 hosts. */
const MOST_MB = 400;

interface Options {
  readonly hosts: number;
  readonly trial: number;
  readonly times: number;
  readonly tools?: string;
}

const count = (text: string): number => {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1) return value;
  throw new InvalidArgumentError('Write a whole number from 1 on.');
};

const say = (text: string): void => console.log(text);

const interruption = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(name, () => interruption.abort(new Error('stopped')));

const program = new Command('bench:audit')
  .description(
    [
      'certroll audit beside clush, cumin and ansible, which run openssl x509 -enddate on the same files, over one sshd that',
      'answers on many addresses of loopback. Tells wall time, own CPU (with children, without what sshd and the',
      'hosts do) and memory of each. Processes on the hosts are stand-ins. Removes all that it made.',
    ].join(' '),
  )
  .option('--hosts <number>', 'how many there are', count, 500)
  .option('--trial <number>', 'of them, for choosing a fan-out', count, 100)
  .option('--times <number>', 'runs of each; medians count', count, 3)
  .option(
    '--tools <folder>',
    'where cumin and ansible are installed, and kept; else they are removed afterwards',
  );

program.action(async ({ hosts, trial, times, tools }: Options) => {
  const dir = await mkdtemp(join(tmpdir(), 'certroll-bench-'));
  let fleet: LoopbackFleet | undefined;
  try {
    const bin = await installTools(tools ?? join(dir, 'tools'), say);
    await buildOnce();
    fleet = await LoopbackFleet.start({ size: hosts, controlPlanes: Math.min(3, hosts) });
    const results = await compare({
      ...{ fleet, tools: TOOLS, times, trial: Math.min(trial, hosts), say, dir, signal: interruption.signal },
      // What is on the machine comes first: there clush is a package of the distribution.
      env: { PATH: `${process.env['PATH'] ?? ''}:${bin}`, HOME: dir, LC_ALL: 'C.UTF-8' },
    });
    const wrong = shortcomings(results, hosts, MOST_MB);
    say(`\n${renderResults(results, hosts)}\n`);
    for (const each of wrong) say(`FAILED: ${each}`);
    process.exitCode = wrong.length > 0 ? 1 : 0;
  } finally {
    await fleet?.stop();
    await rm(dir, { recursive: true, force: true });
  }
});

try {
  await program.parseAsync();
} catch (error) {
  console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = interruption.signal.aborted ? 130 : 1;
}
