import { afterEach, describe, expect, it, vi } from 'vitest';
import { confirmOnTerminal } from '../../../src/cli/confirm.js';
import { printResult } from '../../../src/cli/print-result.js';
import type { RunResult } from '../../../src/run/run.js';
import { planSteps, ROTATION, soundWorld } from '../../support/worlds.js';

const world = soundWorld();
const plan = planSteps(world, ROTATION);

/** What is written to a stream while something is done. */
const writtenBy = async (stream: NodeJS.WriteStream, action: () => unknown): Promise<string> => {
  const parts: string[] = [];
  vi.spyOn(stream, 'write').mockImplementation((part) => parts.push(String(part)) > 0);
  await action();
  return parts.join('');
};

afterEach(() => vi.restoreAllMocks());

describe('a plan that is agreed to beforehand', () => {
  const confirm = (isQuiet: boolean) =>
    confirmOnTerminal({ isAgreed: true, isQuiet, pauseReporter: () => undefined });

  it('is shown before its first change', async () => {
    const shown = await writtenBy(process.stderr, async () => expect(await confirm(false)(plan)).toBe(true));
    expect(shown).toContain('generate a signing key');
    expect(shown).toContain('Proved:');
    expect(shown).not.toContain('[y/N]');
  });

  it('is not, where nothing is to be printed', async () => {
    const shown = await writtenBy(process.stderr, async () => expect(await confirm(true)(plan)).toBe(true));
    expect(shown).toBe('');
  });
});

describe('the result of a quiet run', () => {
  const observation = { world, notes: [], unseen: [] } as unknown as RunResult['before'];
  const result: RunResult = {
    plan: { ...plan, entries: [] },
    before: observation,
    after: undefined,
    outcome: 'nothing-to-do',
    journal: undefined,
  };
  const printed = async (given: RunResult) =>
    writtenBy(process.stdout, () =>
      printResult(given, { json: false, quiet: true, reportsOnly: false, renewBefore: '30d' }),
    );

  it('is printed when it is not as it should be', async () => {
    const text = 'no running kube-apiserver was found';
    const findings = [{ severity: 'critical' as const, host: 'cp1', text }];
    expect(await printed({ ...result, plan: { ...result.plan, findings } })).toContain(text);
    expect(await printed({ ...result, plan, outcome: 'pending' })).toContain('generate a signing key');
  });

  it('is not when all went well or nothing was to be done', async () => {
    expect(await printed(result)).toBe('');
    expect(await printed({ ...result, plan, after: observation, outcome: 'done' })).toBe('');
  });
});
