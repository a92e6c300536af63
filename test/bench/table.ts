import { renderTable } from '../../src/report/table.js';
import type { Result, Run } from './compare.js';

type Figure = 'wallS' | 'cpuS' | 'memoryMb' | 'residentMb' | 'largestMb';

const FIGURES: readonly (readonly [Figure, string])[] = [
  ['wallS', 'wall s'],
  ['cpuS', 'own CPU s'],
  ['memoryMb', 'memory MB'],
  ['residentMb', 'resident MB'],
  ['largestMb', 'largest MB'],
];

const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? NaN) + (sorted[Math.floor(middle)] ?? NaN)) / 2;
};

const figure = ({ runs }: Result, name: Figure): number => median(runs.map((run) => run[name]));

const every = (runs: readonly Run[], pick: (run: Run) => string): string =>
  [...new Set(runs.map(pick))].join(', ');

/** Medians, and how many times as much as certroll's each is. */
export const renderResults = (results: readonly Result[], size: number): string => {
  const [first] = results;
  if (!first) return '';
  const rows = results.map((result) => [
    result.tool.name,
    String(result.fanOut),
    ...FIGURES.map(([name]) => figure(result, name).toFixed(1)),
    `${every(result.runs, ({ answered }) => String(answered))} of ${size}`,
    every(result.runs, ({ exitCode }) => String(exitCode ?? '-')),
  ]);
  const ratios = results.map((result) => [
    result.tool.name,
    ...FIGURES.map(([name]) => (figure(result, name) / figure(first, name)).toFixed(2)),
  ]);
  return [
    renderTable([['', 'fan-out', ...FIGURES.map(([, title]) => title), 'end dates of', 'exit'], ...rows]),
    `\nTimes ${first.tool.name}:\n`,
    renderTable([['', ...FIGURES.map(([, title]) => title.replace(/ \w+$/, ''))], ...ratios]),
  ].join('\n');
};

/** What must not be: nothing when all is well. */
export const shortcomings = (results: readonly Result[], size: number, mostMb: number): readonly string[] => {
  const [first] = results;
  const missing = results
    .filter(({ runs }) => runs.some(({ answered }) => answered < size))
    .map(({ tool }) => `${tool.name} did not answer for all ${size} hosts`);
  const residentMb = Math.max(0, ...(first?.runs ?? []).map((run) => run.residentMb));
  return residentMb < mostMb
    ? missing
    : [...missing, `${first?.tool.name ?? ''} took ${residentMb.toFixed(0)} MB, and may take ${mostMb}`];
};
