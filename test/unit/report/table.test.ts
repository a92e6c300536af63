import { Chalk } from 'chalk';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { displayWidth } from '../../../src/core/text.js';
import { renderTable } from '../../../src/report/table.js';

describe('a table', () => {
  it('has columns as wide as their widest cell, and nothing at the end of a line', () => {
    expect(
      renderTable([
        ['NAME', 'WHAT', 'MORE'],
        ['a', 'longer', ''],
        ['主机', 'x'],
      ]),
    ).toBe(['NAME  WHAT    MORE', 'a     longer', '主机  x'].join('\n'));
    expect(renderTable([])).toBe('');
    expect(renderTable([['']])).toBe('');
  });

  it('is as wide with colours as without', () => {
    const chalk = new Chalk({ level: 1 });
    const table = renderTable([
      [chalk.bold('A'), 'B'],
      [chalk.green('✔ yes'), 'b'],
    ]);
    expect(table.split('\n').map(displayWidth)).toEqual([8, 8]);
    expect(table).toContain(chalk.green('✔ yes'));
  });

  it('wraps its widest column between words where the terminal is too narrow', () => {
    const rows = [
      ['rotate-sa-keys', 'Replace the signing keys of every control plane with no token refused'],
      ['other', 'short'],
    ];
    expect(renderTable(rows, 48)).toBe(
      [
        'rotate-sa-keys  Replace the signing keys of',
        '                every control plane with no',
        '                token refused',
        'other           short',
      ].join('\n'),
    );
  });

  it('cuts a word that is wider than its column', () => {
    expect(renderTable([['x', 'abcdefghijklmnopqrstuvwxyz']], 15)).toBe(
      ['x  abcdefghijkl', '   mnopqrstuvwx', '   yz'].join('\n'),
    );
  });

  it('lets nothing through that moves the cursor or ends a line', () => {
    expect(renderTable([['a\u001b[2Jb\nc', '\u001b]0;x\u0007d']])).toBe('ab | c  d');
  });

  it('never loses a word', () => {
    const cell = fc
      .array(fc.stringMatching(/^[a-z]{1,8}$/), { maxLength: 12 })
      .map((words) => words.join(' '));
    fc.assert(
      fc.property(
        fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 5 }),
        fc.nat(80),
        (rows, width) => {
          const words = (text: string): readonly string[] => text.split(/\s+/).filter(Boolean).sort();
          const table = renderTable(rows, Math.max(30, width));
          expect(words(table)).toEqual(words(rows.flat().join(' ')));
          for (const line of table.split('\n'))
            expect(displayWidth(line)).toBeLessThanOrEqual(Math.max(30, width));
        },
      ),
    );
  });
});
