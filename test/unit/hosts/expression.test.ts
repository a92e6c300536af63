import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CertrollError, EXIT } from '../../../src/core/errors.js';
import { expandHosts, foldHosts } from '../../../src/hosts/expression.js';

const hostName = fc.stringMatching(/^[a-z][a-z0-9]{0,6}(-[0-9]{1,3})?(\.[a-z0-9]{1,4}){0,2}$/);

describe('a host expression', () => {
  it('gives back what was folded, whatever the names', () => {
    fc.assert(
      fc.property(fc.uniqueArray(hostName, { minLength: 1, maxLength: 40 }), (names) => {
        expect(expandHosts(foldHosts(names)).sort()).toEqual([...names].sort());
      }),
    );
  });

  it('gives back ranges of any padding, folded into one', () => {
    const range = fc.record({ from: fc.nat(2000), count: fc.integer({ min: 2, max: 30 }), width: fc.nat(5) });
    fc.assert(
      fc.property(range, ({ from, count, width }) => {
        const names = Array.from(
          { length: count },
          (_, index) => `cp${String(from + index).padStart(width, '0')}.net`,
        );
        const folded = foldHosts(names);
        expect(expandHosts(folded).sort()).toEqual([...names].sort());
        if (String(from).length === String(from + count).length) expect(folded).not.toContain(',');
      }),
    );
  });

  it('works its operators from left to right, as sets do', () => {
    const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { minLength: 1 });
    const operators = {
      ',': (has: boolean, other: boolean) => has || other,
      '!': (has: boolean, other: boolean) => has && !other,
      '&': (has: boolean, other: boolean) => has && other,
      '^': (has: boolean, other: boolean) => has !== other,
    };
    const step = fc.tuple(
      fc.constantFrom(...(Object.keys(operators) as (keyof typeof operators)[])),
      fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    );
    fc.assert(
      fc.property(names, fc.array(step, { maxLength: 6 }), (first, steps) => {
        // `z` is in no step, so the set is never empty, which is an error.
        const expression = `${first.join(',')}${steps.map(([operator, name]) => ` ${operator} ${name}`).join('')},z`;
        const expected = ['a', 'b', 'c', 'd', 'e'].filter((name) =>
          steps.reduce(
            (has, [operator, other]) => operators[operator](has, name === other),
            first.includes(name as 'a'),
          ),
        );
        expect(expandHosts(expression).sort()).toEqual([...expected, 'z']);
      }),
    );
  });

  it('keeps the order that it is written in', () => {
    expect(expandHosts('cp3,cp[1-2],cp3')).toEqual(['cp3', 'cp1', 'cp2']);
  });

  it('multiplies several brackets out', () => {
    expect(expandHosts('r[1-2]-n[08-10/2].x')).toEqual(['r1-n08.x', 'r1-n10.x', 'r2-n08.x', 'r2-n10.x']);
  });

  it.each([
    ['', 'a host is missing, at character 1'],
    ['cp1,,cp2', "a host is missing before ',', at character 5"],
    ['cp1!', 'a host is missing, at character 5'],
    ['cp[1-3', "'[' is never closed, at character 3"],
    ['cp1]', "']' without '[', at character 4"],
    ['cp[[1]]', "'[' inside brackets, at character 4"],
    ['cp[1,,3]', 'a number or a range is missing, at character 6'],
    ['cp[3-1]', "'3-1' runs backwards, at character 4"],
    ['cp[1-x]', "'1-x' is neither a number nor a range, at character 4"],
    ['cp[1-9/0]', "'1-9/0' has a step of nothing, at character 4"],
    ['cp[1-010]', 'pads its two ends with zeros to different widths, at character 4'],
    ['cp[1-2][3-4]', 'something other than digits between them, at character 8'],
    ['w1[9-14]', 'the numbers of a list beside a digit need one width, such as 1[09-14], at character 3'],
    ['w[1-5/2]0', 'a step cannot stand before a digit, at character 2'],
    ['cp1 cp2', 'two hosts need a comma between them, at character 4'],
    ['cp1,root@cp2', "'@' names a group or a user; write host names only, at character 9"],
    ['cp*', "'*' cannot be used: there is no list of all hosts to pick from, at character 3"],
    ['cp1,-oProxyCommand=x', "'-oProxyCommand=x' is not a host name, at character 5"],
    ['cp[1-99999999]', 'is more than 100000 hosts, at character 4'],
    ['a[1-999]b[1-999]', 'more than 100000 hosts, at character 1'],
    ['cp1!cp1', 'no host is left, at character 1'],
  ])('is refused when it reads %j, and says where', (expression, message) => {
    const error = thrownBy(() => expandHosts(expression));
    expect(error.message).toContain(message);
    expect(error).toMatchObject({ code: 'usage.hosts', exit: EXIT.usage });
  });

  it('is either read or refused as a mistake of the writer', () => {
    const text = fc.string({ unit: fc.constantFrom(...Array.from('ab01[]-/,!&^ .x*')), maxLength: 14 });
    fc.assert(
      fc.property(text, (expression) => {
        try {
          for (const name of expandHosts(expression)) expect(name).toMatch(/^\w[\w.-]*$/);
        } catch (error) {
          expect(error).toMatchObject({ code: 'usage.hosts' });
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe('folding hosts', () => {
  it.each([
    [['cp1', 'cp2', 'cp3', 'cp7'], 'cp[1-3,7]'],
    [['cp9', 'cp10'], 'cp[9-10]'],
    [['cp09', 'cp10', 'cp11'], 'cp[09-11]'],
    [['cp9', 'cp010'], 'cp[9,010]'],
    [['b', 'a', 'cp2.x', 'cp1.x'], 'a,b,cp[1-2].x'],
    [[], ''],
  ])('writes %j as %j', (names, text) => {
    expect(foldHosts(names)).toBe(text);
  });
});

const thrownBy = (action: () => unknown): CertrollError => {
  try {
    action();
  } catch (error) {
    expect(error).toBeInstanceOf(CertrollError);
    return error as CertrollError;
  }
  throw new Error('nothing was thrown');
};
