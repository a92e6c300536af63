import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { displayWidth } from '../../../src/core/text.js';
import type { Reporter, RunEvent, ShownEntry } from '../../../src/report/events.js';
import { liveReporter } from '../../../src/report/live.js';

type Untimed<E> = E extends unknown ? Omit<E, 'at'> : never;

/** A terminal that keeps what is written to it. */
const terminal = (
  more: { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number } = {},
) => {
  const writes: string[] = [];
  const stream = {
    isTTY: true,
    columns: 60,
    rows: 10,
    ...more,
    write: (text: string) => writes.push(text) > 0,
  } as unknown as NodeJS.WriteStream;
  return { stream, writes, all: () => writes.join('') };
};

const style = { color: false, unicode: true, now: () => Date.now() };
const show = (reporter: Reporter, event: Untimed<RunEvent>): void =>
  reporter.show({ at: new Date(0), ...event });
const entries: readonly ShownEntry[] = ['1', '2'].map((id) => ({
  id,
  step: 's',
  kind: 'change',
  host: 'cp1',
  text: 't',
}));

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubEnv('TERM', 'xterm');
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

describe('the live report', () => {
  it('keeps what is done and draws what goes on', () => {
    const { stream, all } = terminal();
    const reporter = liveReporter(stream, style);
    show(reporter, { type: 'plan', entries });
    show(reporter, { type: 'phase', name: 'apply' });
    show(reporter, { type: 'entry', id: '1', state: 'started', host: 'cp1', text: 'restart it' });
    vi.advanceTimersByTime(100);
    expect(stripVTControlCharacters(all())).toMatch(/. apply 0\/2\n {2}cp1 {2}restart it\n$/);
    show(reporter, { type: 'entry', id: '1', state: 'done', host: 'cp1', text: 'restart it' });
    expect(all().match(/✔ 1\/2 cp1: restart it\n/g)).toHaveLength(1);
    show(reporter, { type: 'entry', id: '2', state: 'failed', host: 'cp1', text: 'write it' });
    show(reporter, { type: 'note', level: 'warning', text: 'look\nhere' });
    expect(all()).toContain('✘ 2/2 cp1: write it\n');
    expect(all()).toContain('! look | here\n');
    reporter.end();
    const written = all();
    vi.advanceTimersByTime(5000);
    expect(all()).toBe(written);
  });

  it('leaves nothing behind at the end: no live line, no timer', () => {
    const { stream, writes, all } = terminal();
    const reporter = liveReporter(stream, style);
    reporter.end();
    expect(all()).toBe('');
    show(reporter, { type: 'phase', name: 'observe' });
    vi.advanceTimersByTime(100);
    reporter.end();
    reporter.end();
    // The last thing written erases the lines that were drawn.
    expect(stripVTControlCharacters(writes.at(-1) ?? '')).toBe('');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('takes the terminal up again with the next event', () => {
    const { stream, writes, all } = terminal();
    const reporter = liveReporter(stream, style);
    show(reporter, { type: 'phase', name: 'plan' });
    reporter.end();
    writes.length = 0;
    show(reporter, { type: 'phase', name: 'apply' });
    vi.advanceTimersByTime(100);
    expect(all()).toContain('apply');
    reporter.end();
  });

  it('cuts live lines to the terminal, and counts the hosts that have no room', () => {
    const { stream, writes } = terminal({ columns: 30, rows: 6 });
    const reporter = liveReporter(stream, style);
    show(reporter, { type: 'phase', name: 'observe' });
    for (let host = 1; host <= 9; host += 1)
      show(reporter, {
        type: 'progress',
        host: `kubemaster100${host}.example.net`,
        text: 'reading flags and files',
      });
    show(reporter, { type: 'lock', state: 'waiting', name: 'apiserver-restart', holder: 'someone else' });
    vi.advanceTimersByTime(100);
    const lines = stripVTControlCharacters(writes.at(-1) ?? '').split('\n');
    expect(lines.filter((line) => line.includes('kubemaster'))).toHaveLength(3);
    expect(lines).toContain('  … 6 more');
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(30);
    reporter.end();
  });

  it('says for how long a host has been quiet', () => {
    const { stream, all } = terminal();
    const reporter = liveReporter(stream, style);
    show(reporter, { type: 'progress', host: 'cp1', text: '/readyz 0 of 3' });
    vi.advanceTimersByTime(65_000);
    expect(all()).toContain('/readyz 0 of 3 (1m 5s)');
    reporter.end();
  });

  it('lets no host write to the terminal', () => {
    const { stream, all } = terminal();
    const reporter = liveReporter(stream, style);
    show(reporter, {
      type: 'entry',
      id: '1',
      state: 'done',
      host: 'cp1',
      text: 'x\u001b]0;title\u0007\u001b[9;9Hy',
    });
    reporter.end();
    expect(all()).toContain('cp1: xy\n');
  });

  it('has letters where signs cannot be shown, and no colours unless asked', () => {
    const { stream, all } = terminal();
    const reporter = liveReporter(stream, { ...style, unicode: false });
    show(reporter, { type: 'entry', id: '1', state: 'done', text: 'it' });
    reporter.end();
    expect(all()).toContain('ok it\n');
    expect(all()).not.toMatch(/\u001b\[3\dm/);
  });

  it.each([
    ['is a pipe', { isTTY: false }, 'xterm'],
    ['cannot move its cursor', {}, 'dumb'],
  ])('is one line per event where the stream %s', (_what, more, term) => {
    vi.stubEnv('TERM', term);
    const { stream, all } = terminal(more);
    const reporter = liveReporter(stream, style);
    show(reporter, { type: 'phase', name: 'observe' });
    reporter.end();
    expect(all()).toBe('1970-01-01T00:00:00.000Z - observe\n');
  });
});
