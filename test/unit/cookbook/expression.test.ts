import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkExpression, checkText } from '../../../src/cookbook/check-expression.js';
import { evaluate, interpolate, type Scope } from '../../../src/cookbook/expression.js';
import type { Names } from '../../../src/cookbook/names.js';

const scope: Scope = {
  inputs: { force: true, count: 3, name: 'x', wait: '36h' },
  cluster: { name: 'prod', mode: 'per-host', controlPlanes: ['cp1', 'cp2'] },
  steps: { expiry: { due: true, left: 12, hosts: ['cp1'] }, skipped: {} },
};
const names: Names = {
  inputs: { force: 'boolean', count: 'number', name: 'string', wait: 'duration', only: 'string' },
  cluster: ['name', 'mode', 'controlPlanes'],
  steps: { expiry: ['due', 'left', 'hosts'], skipped: ['due'] },
};

describe('an expression', () => {
  it.each([
    ['inputs.force', true],
    ['${{ inputs.force && steps.expiry.due }}', true],
    ['size(cluster.controlPlanes)', 2],
    ['cluster.controlPlanes.size()', 2],
    ['inputs.count + 1', 4],
    ['inputs["count"] + 1', 4],
    ['cluster.controlPlanes.exists(h, h == "cp2")', true],
    ['cluster.controlPlanes.all(a, steps.expiry.hosts.exists(b, a == b))', false],
    ['days("36h") > 1.0', true],
    ['days(inputs.wait)', 1.5],
    ['millis("2s")', 2000],
    ['"a" in ["a", "b"]', true],
    ['has(inputs.only) ? inputs.only : "all"', 'all'],
    ['has(steps.skipped.due) && steps.skipped.due', false],
    ['{"a": {"b": [1, 2.5]}}', { a: { b: [1, 2.5] } }],
    ['cluster.controlPlanes.map(h, h + ".example.net")', ['cp1.example.net', 'cp2.example.net']],
  ])('%s', (text, value) => {
    expect(checkExpression(text, names, 'any')).toEqual([]);
    expect(evaluate(text, scope)).toEqual(value);
  });

  it.each([
    ['inputs.forze', 7, /unknown input 'forze'; did you mean 'force'/],
    ['inputs["forze"]', 7, /unknown input 'forze'; did you mean 'force'/],
    ['true && imputs.force', 8, /unknown variable 'imputs'; did you mean 'inputs'/],
    ['${{ steps.later.due }}', 10, /unknown earlier step 'later'/],
    ['steps.constructor.due', 6, /unknown earlier step 'constructor'/],
    ['steps.expiry.dew', 13, /unknown output of step 'expiry' 'dew'; known: due, left, hosts/],
    ['cluster.nam == "x"', 8, /unknown property of the cluster 'nam'; did you mean 'name'/],
    ['facts.nodes > 3', 0, /unknown variable 'facts'/],
    ['cluster.controlPlanes.exists(h, x == "cp2")', 32, /unknown variable 'x'/],
    ['inputs.force &&', 15, /the expression ends too soon/],
    ['', 0, /the expression ends too soon/],
    ['inputs.force true', 13, /this does not belong here/],
    ['inputs.name', 0, /this gives string; expected true or false/],
    ['inputs.name > 3', 0, /no such overload: string > int/],
    ['inputs.force == "true"', 0, /no such overload: bool == string/],
    ['dayz("30d") > 1.0', 0, /unknown function 'dayz'; did you mean 'days'/],
    ['frobnicate(1)', 0, /unknown function 'frobnicate'/],
    ['days(3) > 1.0', 0, /'days' cannot be called with \(int\)/],
    ['true || days("30x") > 1.0', 13, /'30x' is not a duration/],
    ['duration("720h") > duration("1h")', 0, /'duration' is not available; use days/],
    ['inputs.name.matches("^(a+)+$")', 0, /'matches' is not available/],
    ['matches(inputs.name, "a")', 0, /'matches' is not available/],
    ['[1].all(a, [1].all(b, [1].all(c, true)))', 22, /'all' inside 2 others/],
    ['cel.bind(x, "aa", x + x) == ""', 0, /unknown variable 'cel'/],
    ['${{ inputs.force } }', 0, /this '\$\{\{' has no '\}\}'/],
    ['${{ inputs.force }} && ${{ inputs.force }}', 0, /expected one expression/],
    ['x'.repeat(2000), 0, /1000 characters at most/],
    [`${'('.repeat(400)}true${')'.repeat(400)}`, 50, /maxDepth/],
  ])('%s is refused before it is run', (text, offset, message) => {
    const [problem] = checkExpression(text, names);
    expect(problem?.message).toMatch(message);
    expect(problem?.offset).toBe(offset);
  });

  it('may name a fact when there are any', () => {
    expect(checkExpression('facts.nodes > 3', { ...names, facts: ['nodes'] })).toEqual([]);
    expect(evaluate('facts.nodes > 3', { ...scope, facts: { nodes: 4 } })).toBe(true);
    expect(checkExpression('facts.nods > 3', { ...names, facts: ['nodes'] })[0]?.message).toMatch(
      /did you mean/,
    );
  });

  it('says why a name has no value', () => {
    expect(() => evaluate('inputs.only == "all"', scope)).toThrow(
      "the input 'only' was not given and has no default; has(inputs.only) tells",
    );
    expect(() => evaluate('true && steps.skipped.due', scope)).toThrow("the step 'skipped' was left out");
  });

  it.each(['timestamp("2026-01-01T00:00:00Z")', 'b"ab"', 'type(1)', '9007199254740993', '1.0 / 0.0'])(
    '%s gives nothing that a setting could hold',
    (text) => {
      expect(() => evaluate(text, scope)).toThrow();
    },
  );

  it('has no way to the prototype of anything', () => {
    for (const text of ['inputs.constructor', 'inputs.__proto__', 'cluster.toString', 'steps.__proto__'])
      expect(checkExpression(text, names)).not.toEqual([]);
    expect(() => evaluate('inputs.constructor', scope)).toThrow();
  });

  it('of any form is checked and evaluated without a crash, its problems inside it', () => {
    const part = fc.constantFrom(
      ...[
        'inputs',
        'steps',
        '.',
        'force',
        '(',
        ')',
        '[',
        ']',
        '{',
        '}',
        '"',
        "'",
        '&&',
        '!',
        '?',
        ':',
        '1',
        'x',
      ],
      ...[
        '${{',
        '}}',
        ' ',
        ',',
        'exists',
        'has',
        'days',
        'in',
        '==',
        '-',
        '\n',
        '\\',
        'r"',
        'b"',
        '/*',
        '//',
        '_',
      ],
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
        const text = parts.join('');
        const problems = checkExpression(text, names, 'any');
        for (const { offset, message } of problems) {
          expect(offset).toBeGreaterThanOrEqual(0);
          expect(offset).toBeLessThanOrEqual(text.length);
          expect(message).not.toContain('\n');
        }
        try {
          evaluate(text, scope);
        } catch (thrown) {
          expect((thrown as Error).message).not.toContain('\n');
        }
      }),
      { numRuns: 3000 },
    );
  });
});

describe('interpolation', () => {
  it('keeps the type of a text that is one expression, and joins the rest as text', () => {
    expect(interpolate({ a: '${{ inputs.count }}', b: ['n=${{ inputs.count }}!'], c: 5 }, scope)).toEqual({
      a: 3,
      b: ['n=3!'],
      c: 5,
    });
    expect(interpolate('${{ inputs.count }}${{ inputs.name }}', scope)).toBe('3x');
  });

  it.each([
    ["${{ {'a': {'b': 1}} }}", { a: { b: 1 } }],
    ['${{ \'}}\' + "}}" }}', '}}}}'],
    ["${{ 'it\\'s }}' }}", "it's }}"],
    ['${{ r"\\"}}" }}', '\\"}}'],
    ["${{ '''a'}}''' }}", "a'}}"],
    ['$${{ inputs.count }}', '${{ inputs.count }}'],
    ['$$${{ x', '$${{ x'],
    ['${{ inputs.count }}$${{', '3${{'],
    ['$ {{ }} {{', '$ {{ }} {{'],
  ])('%s', (text, value) => {
    expect(checkText(text, names)).toEqual([]);
    expect(interpolate(text, scope)).toEqual(value);
  });

  it.each([
    ['a list', 'x${{ cluster.controlPlanes }}', /a list cannot be part of a text/],
    ['a map', 'x${{ {"a": 1} }}', /a map cannot be part of a text/],
    ['null', 'x${{ null }}', /null cannot be part of a text/],
    ['no end', 'x${{ 1', /has no '}}'/],
  ])('refuses %s within a text', (_what, text, message) => {
    expect(() => interpolate(text, scope)).toThrow(message);
  });

  it('says where in the text an expression is wrong', () => {
    expect(checkText('a ${{ inputs.count }} b ${{ inputs.cuont }} ${{', names)).toEqual([
      { offset: 35, message: "unknown input 'cuont'; did you mean 'count'?" },
      { offset: 44, message: "this '${{' has no '}}'" },
    ]);
  });

  const text = fc.string({ unit: fc.constantFrom('$', '{', '}', 'a', ' ', "'", '"', '\\', '\n') });

  it('leaves text without ${{ as it is, and gives back any text that was escaped', () => {
    fc.assert(
      fc.property(fc.oneof(text, fc.string()), (plain) => {
        if (!plain.includes('${{')) expect(interpolate(plain, scope)).toBe(plain);
        expect(
          interpolate(
            plain.replaceAll('${{', () => '$${{'),
            scope,
          ),
        ).toBe(plain);
      }),
    );
  });

  it('gives back any text that stands in an expression as a string', () => {
    fc.assert(
      fc.property(
        text,
        text.map((before) => before.replaceAll('$', '')),
        (value, before) => {
          const literal = `\${{ ${JSON.stringify(value)} }}`;
          expect(interpolate(literal, scope)).toBe(value);
          expect(interpolate(`${before}${literal}${before}`, scope)).toBe(`${before}${value}${before}`);
        },
      ),
    );
  });
});
