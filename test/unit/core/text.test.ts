import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { displayWidth, fitColumns, oneLine } from '../../../src/core/text.js';

describe('the width of a text', () => {
  it.each([
    ['', 0],
    ['abc', 3],
    ['\u001b[31mabc\u001b[39m', 3],
    ['主机', 4],
    ['e\u0301', 1],
    ['🔑', 2],
    ['✔', 1],
  ])('%j takes %i columns', (text, columns) => {
    expect(displayWidth(text)).toBe(columns);
  });

  it('is kept by cutting', () => {
    expect(fitColumns('abcdef', 4)).toBe('abc…');
    expect(fitColumns('主机名', 4)).toBe('主…');
    expect(fitColumns('abc', 0)).toBe('');
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(20), (text, columns) => {
        const plain = oneLine(text);
        expect(displayWidth(fitColumns(plain, columns))).toBeLessThanOrEqual(columns);
      }),
    );
  });
});

describe('a text made one line', () => {
  it.each([
    [' a\r\n  b\n', 'a | b'],
    ['a\tb', 'a b'],
    ['\u001b[2J\u001b]0;title\u0007x', 'x'],
    ['a\u202eb', 'a\ufffdb'],
  ])('%j', (text, line) => {
    expect(oneLine(text)).toBe(line);
  });

  it('never has anything that moves the cursor', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(oneLine(text)).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
      }),
    );
  });
});
