import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commandLine } from '../../../src/hosts/command-line.js';

describe('a remote command line', () => {
  const word = fc.oneof(
    fc.string({ unit: 'binary' }).filter((text) => !text.includes('\0')),
    fc.string({ unit: fc.constantFrom(...Array.from('\'"\\$`!*?[]{}()<>|&;~# \n\t=-%a')) }),
    fc.constantFrom('if', 'time', 'A=b', '-n', '--', '', '{', '}', '!'),
  );

  it('gives a real shell the same words back, byte for byte', () => {
    fc.assert(
      fc.property(fc.array(word, { maxLength: 20 }), (words) => {
        const output = execFileSync('sh', ['-c', commandLine(['printf', '%s\\0', 'first', ...words])]);
        expect(output.toString()).toBe(['first', ...words].map((text) => `${text}\0`).join(''));
      }),
    );
  });

  it('takes even a keyword or an assignment as the name of a command', () => {
    for (const name of ['if', 'A=b', '!', '{']) {
      expect(() => execFileSync('sh', ['-c', commandLine([name])], { stdio: 'pipe' })).toThrow(/not found/);
    }
  });

  it('refuses a NUL, which no command line can carry', () => {
    expect(() => commandLine(['a\0b'])).toThrow(TypeError);
  });
});
