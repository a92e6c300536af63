import { describe, expect, it } from 'vitest';
import { compilePattern, requirePattern } from '../../../src/cookbook/pattern.js';

describe('the pattern of an input', () => {
  it.each(['[a-z]+', '(ab)+', '(a|b)', 'a+b+', '\\(a+\\)+', '[(+]+', '(?:\\d{1,3})', 'T\\d{3,8}', '(a?b)?'])(
    'may be %s',
    (pattern) => {
      expect(compilePattern(pattern)).toBeInstanceOf(RegExp);
    },
  );

  it.each([
    '(a+)+',
    '(a|a)*',
    '((a*))+',
    '(a{2,})+',
    '(x(y|z))+',
    '(.*)*',
    '(?:a+)+b',
    '(a+){2,}',
    '(a)\\1',
    '(',
    '[',
    '\\k',
  ])('may not be %s', (pattern) => {
    expect(() => compilePattern(pattern)).toThrow();
  });

  it('must fit the whole value', () => {
    requirePattern('a|b', 'a');
    expect(() => requirePattern('a|b', 'ab')).toThrow("'ab' does not fit the pattern a|b");
  });
});
