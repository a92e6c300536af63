import { describe, expect, it } from 'vitest';
import type { RunEvent } from '../../../src/report/events.js';
import { jsonReporter, lineReporter, quietReporter } from '../../../src/report/lines.js';

const at = new Date('2026-01-01T00:00:00Z');
const linesOf = (event: RunEvent): string => {
  let text = '';
  const reporter = lineReporter((line) => (text += line));
  reporter.show(event);
  reporter.end();
  return text;
};

describe('the plain report', () => {
  it.each<[RunEvent, string]>([
    [{ at, type: 'phase', name: 'observe' }, '- observe'],
    [{ at, type: 'plan', entries: [] }, '- nothing to do'],
    [{ at, type: 'entry', id: '3', state: 'done', host: 'cp1', text: 'restart' }, 'cp1 [3] done: restart'],
    [
      { at, type: 'entry', id: '3', state: 'failed', host: 'cp1', text: 'restart', detail: 'line 1\nline 2' },
      'cp1 [3] failed: restart: line 1 | line 2',
    ],
    [{ at, type: 'progress', host: 'cp1', text: 'a\u001b[2Jb\r\n' }, 'cp1 ab'],
    [{ at, type: 'lock', state: 'waiting', name: 'x', holder: 'a@b' }, '- lock x waiting, held by a@b'],
    [{ at, type: 'note', level: 'warning', text: 'careful' }, '- warning: careful'],
  ])('is one line with time and host: %j', (event, text) => {
    expect(linesOf(event)).toBe(`2026-01-01T00:00:00.000Z ${text}\n`);
  });

  it('is of warnings only where nothing else is to be printed', () => {
    let text = '';
    const reporter = quietReporter((line) => (text += line));
    reporter.show({ at, type: 'phase', name: 'observe' });
    reporter.show({ at, type: 'note', level: 'info', text: 'all is well' });
    reporter.show({ at, type: 'note', level: 'warning', text: 'careful' });
    reporter.end();
    expect(text).toBe('2026-01-01T00:00:00.000Z - warning: careful\n');
  });

  it('is one JSON object a line for machines', () => {
    let text = '';
    jsonReporter((line) => (text += line)).show({ at, type: 'progress', host: 'cp1', text: 'a\nb' });
    expect(text.split('\n')).toHaveLength(2);
    expect(JSON.parse(text)).toEqual({ at: at.toISOString(), type: 'progress', host: 'cp1', text: 'a\nb' });
  });
});
