import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkExpression,
  evaluate,
  interpolate,
  type Names,
  type Scope,
} from '../../../src/cookbook/expression.js';

const scope: Scope = {
  inputs: { force: true, count: 3, name: 'x' },
  cluster: { name: 'prod', mode: 'per-host', controlPlanes: ['cp1', 'cp2'] },
  steps: { expiry: { due: true, left: 12 } },
};
const names: Names = {
  inputs: ['force', 'count', 'name'],
  cluster: ['name', 'mode', 'controlPlanes'],
  steps: { expiry: ['due', 'left'] },
};

describe('an expression', () => {
  it.each([
    ['inputs.force', true],
    ['${{ inputs.force && steps.expiry.due }}', true],
    ['size(cluster.controlPlanes)', 2],
    ['inputs.count + 1', 4],
    ['cluster.controlPlanes.exists(h, h == "cp2")', true],
    ['days("36h") > 1.0', true],
    ['"a" in ["a", "b"]', true],
  ])('%s', (text, value) => {
    expect(checkExpression(text, names)).toEqual([]);
    expect(evaluate(text, scope)).toEqual(value);
  });

  it.each([
    ['inputs.forze', 0, /unknown input 'forze'; did you mean 'force'/],
    ['true && imputs.force', 8, /unknown variable 'imputs'; did you mean 'inputs'/],
    ['${{ steps.later.due }}', 4, /unknown earlier step 'later'/],
    ['cluster.controlPlanes.exists(h, x == "cp2")', 32, /unknown variable 'x'/],
    ['x'.repeat(2000), 0, /1000 characters at most/],
  ])('%s is refused before it is run', (text, offset, message) => {
    const [problem] = checkExpression(text, names);
    expect(problem?.offset).toBe(offset);
    expect(problem?.message).toMatch(message);
  });

  it('has no way to the prototype of anything', () => {
    for (const text of ['inputs.constructor', 'inputs.__proto__', 'cluster.toString'])
      expect(checkExpression(text, names)).not.toEqual([]);
    expect(() => evaluate('inputs.constructor', scope)).toThrow();
  });
});

describe('interpolation', () => {
  it('keeps the type of a text that is one expression, and joins the rest as text', () => {
    expect(interpolate({ a: '${{ inputs.count }}', b: ['n=${{ inputs.count }}!'], c: 5 }, scope)).toEqual({
      a: 3,
      b: ['n=3!'],
      c: 5,
    });
    expect(interpolate('$${{ inputs.count }}', scope)).toBe('${{ inputs.count }}');
  });

  it('leaves text without ${{ as it is', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        fc.pre(!text.includes('${{'));
        expect(interpolate(text, scope)).toBe(text);
      }),
    );
  });
});
