import { afterEach, describe, expect, it, vi } from 'vitest';
import { leftBehind, stopOnSignals } from '../../../src/cli/signals.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

describe('a signal', () => {
  const before = SIGNALS.map((signal) => process.listeners(signal));
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => {
    throw new Error('exit');
  });

  afterEach(() => {
    exit.mockClear();
    for (const [at, signal] of SIGNALS.entries())
      for (const listener of process.listeners(signal))
        if (before[at]?.includes(listener) !== true) process.off(signal, listener);
  });

  const listen = () => {
    const said: string[] = [];
    const signal = stopOnSignals({
      say: (text) => said.push(text),
      sayLast: (text) => said.push(`last: ${text}`),
      left: leftBehind(['apiserver-restart', '/certroll/prod/run'], 30),
    });
    return { said, signal };
  };

  it('stops the run after the change under way', () => {
    const { said, signal } = listen();
    process.emit('SIGINT', 'SIGINT');
    expect(signal.reason).toMatchObject({ code: 'run.interrupted', exit: 1 });
    expect(said).toEqual([expect.stringMatching(/^SIGINT: stopping once the change under way is finished/)]);
    expect(exit).not.toHaveBeenCalled();
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('that comes again, %s, ends it at once, saying what it leaves behind', (again, status) => {
    const { said } = listen();
    process.emit('SIGINT', 'SIGINT');
    expect(() => process.emit(again, again)).toThrow('exit');
    expect(exit).toHaveBeenCalledExactlyOnceWith(status);
    expect(said.at(-1)).toBe(
      `last: ${again} again: ended at once; the change under way may be made or not, and what it holds of the locks apiserver-restart and /certroll/prod/run ends by itself with its lease, 30 s from now at the latest; run again to go on from here`,
    );
  });
});
