import { execa } from 'execa';
import type { LoopbackFleet } from '../support/fleet.js';
import { measure, type Measured, type MeasureOptions } from './measure.js';
import type { Answers, Tool } from './tools.js';

/** A tool with the fan-out that suits it, and what its runs cost. */
export interface Result {
  readonly tool: Tool;
  readonly fanOut: number;
  readonly runs: readonly Run[];
}

export interface Run extends Measured {
  /** Hosts whose every end date it told as openssl does here. */
  readonly answered: number;
}

export interface CompareOptions extends MeasureOptions {
  readonly fleet: LoopbackFleet;
  readonly tools: readonly Tool[];
  readonly times: number;
  /** Hosts of the runs that choose a fan-out. */
  readonly trial: number;
  readonly say: (text: string) => void;
}

/** What openssl says of the files here, in milliseconds since the epoch. */
const endDates = async ({ certificates }: LoopbackFleet): Promise<readonly number[]> =>
  Promise.all(
    certificates.map(async (path) => {
      const { stdout } = await execa('openssl', ['x509', '-noout', '-enddate', '-in', path]);
      return Date.parse(stdout.replace('notAfter=', ''));
    }),
  );

const countRight = (answers: Answers, hosts: readonly string[], dates: readonly number[]): number =>
  hosts.filter((host) => {
    const told = new Set(answers.get(host) ?? []);
    return told.size === new Set(dates).size && dates.every((date) => told.has(date));
  }).length;

/** Measures the tools one after the other: first which fan-out suits each, then, in an order that turns, all at theirs. */
export const compare = async (options: CompareOptions): Promise<readonly Result[]> => {
  const { fleet, tools, times, trial, say } = options;
  const dates = await endDates(fleet);
  const runOnce = async (tool: Tool, size: number, fanOut: number): Promise<Run> => {
    const argv = await tool.command(fleet, size, fanOut, options.dir);
    const measured = await measure(argv, options);
    const right = countRight(tool.read(measured.stdout, fleet), fleet.hosts.slice(0, size), dates);
    const told = `${right} of ${size} hosts, exit ${measured.exitCode ?? 'by a signal'}`;
    say(
      `${tool.name} at ${fanOut}: ${measured.wallS.toFixed(1)} s, own CPU ${measured.cpuS.toFixed(1)} s, ${told}`,
    );
    if (right < size) say(measured.stderr.split('\n').slice(-5).join('\n'));
    return { ...measured, answered: right };
  };
  const results: { tool: Tool; fanOut: number; runs: Run[] }[] = [];
  say(`Which fan-out suits each, on ${trial} hosts:`);
  for (const tool of tools) {
    const tried: { fanOut: number; run: Run }[] = [];
    for (const fanOut of tool.fanOuts) tried.push({ fanOut, run: await runOnce(tool, trial, fanOut) });
    const complete = tried.filter(({ run }) => run.answered === trial);
    const [best] = complete.sort((a, b) => a.run.wallS - b.run.wallS);
    if (!best) throw new Error(`${tool.name} answered for all ${trial} hosts at no fan-out`);
    results.push({ tool, fanOut: best.fanOut, runs: [] });
  }
  say(`Each at its own, on ${fleet.hosts.length} hosts:`);
  for (let round = 0; round < times; round++) {
    const order = results.map((_, at) => results[(at + round) % results.length]!);
    for (const result of order)
      result.runs.push(await runOnce(result.tool, fleet.hosts.length, result.fanOut));
  }
  return results;
};
