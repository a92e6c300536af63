import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { asWritten, couldBe, expand } from '../../../../src/hosts/static-pod/expand.js';

const known = new Map([
  ['A', 'one'],
  ['EMPTY', ''],
  ['NESTED', '$(A)'],
]);

describe('references in the words of a container', () => {
  it.each([
    ['$(A)', 'one'],
    ['x$(A)y$(A)', 'xoney' + 'one'],
    ['$(EMPTY)', ''],
    ['$(NESTED)', '$(A)'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$one'],
    ['$$$$(A)', '$$(A)'],
    ['$A', '$A'],
    ['${A}', '${A}'],
    ['$', '$'],
    ['a$', 'a$'],
    ['$(', '$('],
    ['$(A', '$(A'],
    ['$()', '$()'],
    ['$(NOT)', '$(NOT)'],
    ['$(NOT$(A))', '$(NOT$(A))'],
    ['line\n$(A)\nline', 'line\none\nline'],
    ['', ''],
  ])('%j becomes %j', (word, expected) => {
    expect(asWritten(expand(word, known))).toBe(expected);
  });

  it('leave a word without a dollar sign as it is', () => {
    fc.assert(
      fc.property(
        fc.string().filter((text) => !text.includes('$')),
        (text) => {
          expect(asWritten(expand(text, known))).toBe(text);
        },
      ),
    );
  });

  it('match what a running process made of them, and of the rest only itself', () => {
    const word = expand('--advertise-address=$(HOST_IP):$(A)', known);
    expect(couldBe(word, '--advertise-address=10.0.0.1:one')).toBe(true);
    expect(couldBe(word, '--advertise-address=10.0.0.1:two')).toBe(false);
    expect(couldBe(word, '--bind-address=10.0.0.1:one')).toBe(false);
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), (before, value, after) => {
        const escape = (text: string): string => text.replaceAll('$', '$$$$');
        const open = expand(`${escape(before)}$(X)${escape(after)}`, new Map());
        expect(couldBe(open, before + value + after)).toBe(true);
      }),
    );
  });
});
