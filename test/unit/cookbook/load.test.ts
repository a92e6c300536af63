import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { bindInputs } from '../../../src/cookbook/inputs.js';
import { findCookbooks, loadCookbook } from '../../../src/cookbook/load.js';
import type { StepInfo, StepInfos } from '../../../src/cookbook/step-info.js';
import { CertrollError } from '../../../src/core/errors.js';
import { stepCatalog } from '../../../src/steps/catalog.js';
import { tempFolder, thrownBy } from '../../support/temp.js';

const folder = tempFolder();
const head = 'name: mine\ndescription: d\n';
const steps: StepInfos = new Map<string, StepInfo>([
  ...stepCatalog,
  [
    'test/needs',
    {
      summary: 's',
      withSchema: z.strictObject({
        amount: z.number(),
        list: z.array(z.string()).optional(),
        text: z.string().optional(),
      }),
      outputs: [],
    },
  ],
  ['test/notify', { summary: 's', withSchema: z.strictObject({}), outputs: ['sent'], isFinal: true }],
]);
const load = async (text: string) => loadCookbook(folder.write('mine.yaml', text), [], steps);
const failure = async (text: string) => thrownBy(() => load(text));

describe('the shipped cookbooks', () => {
  it.each([...findCookbooks([]).keys()])(
    '%s can be loaded by name, and its name is that of its file',
    async (name) => {
      expect((await loadCookbook(name, [], stepCatalog)).name).toBe(name);
    },
  );
});

describe('a cookbook with several mistakes', () => {
  it('is told all of them, and nothing that only follows from one', async () => {
    const { message } = await failure(
      `${head}steps:\n  - uses: sa-keys/isue\n    when: inputs.nothing\ninputs: {}\nstesp: 1\n`,
    );
    expect(message).toMatch(/mine\.yaml:4:11: unknown step/);
    expect(message).toMatch(/mine\.yaml:5:\d+: .*nothing/);
    expect(message).toMatch(/mine\.yaml:7:1: unknown key 'stesp'/);
    const inputs = await failure(
      `${head}inputs: { force: { type: bool } }\nsteps:\n  - uses: sa-keys/isue\n    when: inputs.force\n`,
    );
    expect(inputs.message.match(/mine\.yaml:/g)).toHaveLength(1);
  });
});

describe('a cookbook with a mistake is refused with file, line, column and hint', () => {
  it.each([
    [
      'an unknown step',
      'steps:\n  - uses: sa-keys/isue\n',
      /mine\.yaml:4:11: unknown step 'sa-keys\/isue'; did you mean 'sa-keys\/issue'\?/,
    ],
    [
      'an unknown key',
      'stesp:\n  - uses: sa-keys/issue\n',
      /mine\.yaml:3:1: unknown key 'stesp'; did you mean 'steps'\?/,
    ],
    ['no steps', '', /'steps' is missing/],
    [
      'an unknown setting',
      'steps:\n  - uses: apiserver/restart\n    with: { onyl: all }\n',
      /mine\.yaml:5:13: apiserver\/restart: unknown key 'onyl'; did you mean 'only'\?/,
    ],
    [
      'an unknown input in an expression',
      'inputs: { force: { type: boolean } }\nsteps:\n  - uses: sa-keys/issue\n    when: ${{ inputs.forse }}\n',
      /mine\.yaml:6:22: unknown input 'forse'; did you mean 'force'\?/,
    ],
    [
      'an output of a later step',
      'steps:\n  - uses: sa-keys/issue\n    when: steps.publish.keys > 0\n  - uses: sa-keys/publish\n',
      /mine\.yaml:5:17: unknown earlier step 'publish'/,
    ],
    [
      'an unknown output',
      'steps:\n  - uses: sa-keys/issue\n  - uses: sa-keys/publish\n    when: steps.issue.kyes > 0\n',
      /mine\.yaml:6:23: unknown output of step 'issue' 'kyes'; did you mean 'keys'\?/,
    ],
    [
      'an expression that cannot be read',
      "steps:\n  - uses: sa-keys/issue\n    when: 'inputs.x &&'\n",
      /mine\.yaml:5:/,
    ],
    [
      'a regular expression',
      "steps:\n  - uses: sa-keys/issue\n    when: cluster.name.matches('^(a+)+$')\n",
      /mine\.yaml:5:11: 'matches' is not available/,
    ],
    [
      'a default of the wrong type',
      'inputs: { n: { type: number, default: many } }\nsteps:\n  - uses: sa-keys/issue\n',
      /mine\.yaml:3:39: default of input 'n': 'many' is not a number/,
    ],
    [
      'a wrong setting',
      'steps:\n  - uses: apiserver/restart\n    with: { only: som }\n',
      /mine\.yaml:5:19: apiserver\/restart: only: 'som' is not one of/,
    ],
    [
      'a missing setting',
      'steps:\n  - uses: test/needs\n',
      /mine\.yaml:4:5: test\/needs: 'amount' is missing/,
    ],
    [
      'a list where an expression gives only a part',
      "steps:\n  - uses: test/needs\n    with: { amount: 1, list: ['${{ 1 + 1 }}', [] ] }\n",
      /mine\.yaml:5:47: test\/needs: list\.1: expected string/,
    ],
    [
      'an expression that never ends, in a block',
      'steps:\n  - uses: test/needs\n    with:\n      amount: 1\n      text: |\n        one\n        two ${{ 1 + 1\n',
      /mine\.yaml:9:13: this '\$\{\{' has no '\}\}'/,
    ],
    [
      'a condition over two lines that is wrong in the second',
      'inputs: { n: { type: number } }\nsteps:\n  - uses: sa-keys/issue\n    when: >-\n      inputs.n == 1 ||\n      inputs.m == 2\n',
      /mine\.yaml:8:14: unknown input 'm'/,
    ],
    [
      'a condition that is neither true nor false',
      'inputs: { name: { type: string } }\nsteps:\n  - uses: sa-keys/issue\n    when: inputs.name\n',
      /mine\.yaml:6:11: this gives string; expected true or false/,
    ],
    [
      'hosts that cannot be read',
      'steps:\n  - uses: sa-keys/issue\n    hosts: cp[1-\n',
      /mine\.yaml:5:14: .*'\[' is never closed/,
    ],
    [
      'hosts of another type',
      'steps:\n  - uses: sa-keys/issue\n    hosts: ${{ size(cluster.controlPlanes) }}\n',
      /mine\.yaml:5:16: this gives int; expected text/,
    ],
    [
      'an output of its own step in a condition',
      'steps:\n  - uses: sa-keys/issue\n    when: steps.issue.keys > 0\n',
      /mine\.yaml:5:17: unknown earlier step 'issue'/,
    ],
    [
      'a finally step that would change things',
      'steps:\n  - uses: sa-keys/issue\n    finally: true\n',
      /mine\.yaml:5:14: sa-keys\/issue cannot be a 'finally' step/,
    ],
    [
      'a step after a finally step',
      'steps:\n  - uses: test/notify\n    finally: true\n  - uses: sa-keys/issue\n',
      /mine\.yaml:6:11: only 'finally' steps may follow/,
    ],
    [
      'a pattern that could run for minutes',
      "inputs: { x: { type: string, pattern: '(a+)+' } }\nsteps:\n  - uses: sa-keys/issue\n",
      /mine\.yaml:3:39: pattern of input 'x': a pattern cannot repeat what itself repeats/,
    ],
    [
      'a default that its own pattern refuses',
      "inputs: { x: { type: string, pattern: '[a-z]+', default: 'A' } }\nsteps:\n  - uses: sa-keys/issue\n",
      /mine\.yaml:3:58: default of input 'x': 'A' does not fit the pattern/,
    ],
    [
      'a choice of another type',
      'inputs: { x: { type: number, choices: [1, two] } }\nsteps:\n  - uses: sa-keys/issue\n',
      /mine\.yaml:3:43: choice of input 'x': 'two' is not a number/,
    ],
    [
      'an input that is required and has a default',
      'inputs: { x: { type: number, required: true, default: 1 } }\nsteps:\n  - uses: sa-keys/issue\n',
      /mine\.yaml:3:40: input 'x': it has a default/,
    ],
    [
      'the same step twice without an id',
      'steps:\n  - uses: sa-keys/issue\n  - uses: sa-keys/issue\n',
      /mine\.yaml:5:11: a step before this one has the id 'issue'; give it an id of its own/,
    ],
    [
      'a duplicate key',
      'name: again\nsteps:\n  - uses: sa-keys/issue\n',
      /mine\.yaml:3:1: Map keys must be unique/,
    ],
    ['an unknown tag', 'steps: !secret\n  - uses: sa-keys/issue\n', /mine\.yaml:3:8: unknown tag !secret/],
    ['an alias that leads nowhere', 'steps: *nowhere\n', /mine\.yaml:3:8: there is no '&nowhere' before/],
    ['a tab', 'steps:\n\t- uses: sa-keys/issue\n', /mine\.yaml:4:1: tabs cannot indent/],
  ])('%s', async (_what, text, message) => {
    const error = await failure(head + text);
    expect(error.message).toMatch(message);
    expect(error).toMatchObject({ exit: 2, code: 'cookbook.invalid' });
  });

  it('names every mistake of the file at once', async () => {
    const { message } = await failure(`${head}steps:\n  - uses: nope\n  - uses: nada\n`);
    expect(message.match(/unknown step/g)).toHaveLength(2);
  });

  it.each([
    ['an empty file', ''],
    ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x00, 0x01])],
    ['a list', '- a\n'],
    [
      'an alias bomb',
      'a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n',
    ],
  ])('%s', async (_what, bytes) => {
    const file = folder.write('bad.yaml', bytes);
    expect(await thrownBy(() => loadCookbook(file, [], stepCatalog))).toMatchObject({ exit: 2 });
  });

  it('a name that is none suggests the nearest', async () => {
    expect(await thrownBy(() => loadCookbook('rotate-sa-key', [], stepCatalog))).toMatchObject({
      exit: 2,
      hint: "did you mean 'rotate-sa-keys'?",
    });
  });

  it('never throws anything but the one error, with a place inside the file', async () => {
    const pieces = fc.constantFrom(
      'name: a',
      'steps:',
      '  - uses: ',
      'sa-keys/issue',
      '${{',
      '}}',
      'inputs',
      '\n',
      ': ',
      '- ',
      '"',
      '[',
      '}',
      '&a',
      '*a',
      '!x',
      '\t',
      'when: ',
      'with: ',
      '{ text: ',
      'amount',
      'inputs.x',
      'hosts: ',
      '#',
    );
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.array(pieces, { maxLength: 25 }), async (isWhole, parts) => {
        const text = `${isWhole ? `${head}steps:\n  - uses: test/needs\n    ` : ''}${parts.join('')}`;
        const error = await load(text).then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        if (error === undefined) return;
        expect(error).toBeInstanceOf(CertrollError);
        const lines = text.split('\n');
        for (const [, line, column] of (error as Error).message.matchAll(/mine\.yaml:(\d+):(\d+): /g)) {
          expect(Number(line)).toBeLessThanOrEqual(lines.length);
          expect(Number(column)).toBeLessThanOrEqual((lines[Number(line) - 1] ?? '').length + 1);
        }
      }),
    );
  });
});

describe('a cookbook', () => {
  it('may use every part of the language', async () => {
    const cookbook = await load(`${head}inputs:
  constructor: { type: string, default: x, pattern: '[a-z]+(-[a-z]+)?' }
  count: { type: number, choices: [1, 2], default: 1 }
steps:
  - id: toString
    uses: sa-keys/check-expiry
    when: size(cluster.controlPlanes) > 1
  - uses: test/needs
    hosts: \${{ cluster.controlPlanes[0] }}
    when: \${{ has(steps.toString.due) && steps.toString.due }}
    with: { amount: '\${{ inputs.count }}', text: 'n=\${{ inputs.constructor }} $\${{ }}' }
  - uses: sa-keys/issue
    hosts: cp[1-2]
    gate: { expression: steps.issue.keys == 2, message: two keys are needed }
  - uses: test/notify
    finally: true
`);
    expect(cookbook.steps.map(({ id, finally: isLast }) => [id, isLast])).toEqual([
      ['toString', false],
      ['needs', false],
      ['issue', false],
      ['notify', true],
    ]);
    expect(cookbook.steps[1]?.where).toMatch(/mine\.yaml:10$/);
    expect(bindInputs(cookbook, {})).toEqual({ constructor: 'x', count: 1 });
  });

  it('is found by name in the first folder that has it, and is to be named as its file', async () => {
    const own = join(folder.path, 'own');
    mkdirSync(own);
    folder.write(
      'own/check-expiry.yaml',
      `name: check-expiry\ndescription: mine\nsteps: [{ uses: sa-keys/issue }]\n`,
    );
    folder.write('own/other.yml', `${head}steps: [{ uses: sa-keys/issue }]\n`);
    folder.write('own/.hidden.yaml', 'x');
    expect((await loadCookbook('check-expiry', [own], steps)).description).toBe('mine');
    expect((await loadCookbook('check-expiry', ['', '/nowhere'], steps)).description).not.toBe('mine');
    expect((await thrownBy(() => loadCookbook('other', [own], steps))).message).toMatch(
      /other\.yml:1:7: the file is named for 'other', so this must be 'other' too/,
    );
    expect([...findCookbooks([own]).keys()]).not.toContain('.hidden');
    await expect(loadCookbook('x', [folder.write('file', '')], steps)).rejects.toMatchObject({ exit: 2 });
  });
});

describe('inputs', () => {
  const cookbook = async () =>
    load(
      `${head}inputs:\n  force: { type: boolean, default: false }\n  only: { type: string, choices: [stale, all] }\n  wait: { type: duration, required: true }\n  n: { type: number }\n  word: { type: string, pattern: '[a-z]+' }\nsteps:\n  - uses: sa-keys/issue\n`,
    );

  it('are read by their type, defaults filled in', async () => {
    expect(bindInputs(await cookbook(), { force: 'true', wait: '90s' })).toEqual({
      force: true,
      wait: '90s',
    });
  });

  it.each([
    [{ wait: '90s', forse: 'true' }, /has no input 'forse'/],
    [{}, /needs the input 'wait'/],
    [{ wait: '90' }, /'90' is not a duration/],
    [{ wait: '1s', force: 'yes' }, /neither true nor false/],
    [{ wait: '1s', only: 'some' }, /'some' is not one of stale, all/],
    [{ wait: '1s', n: '12x' }, /'12x' is not a number/],
    [{ wait: '1s', n: '1'.repeat(400) }, /is not a number/],
    [{ wait: '1s', word: 'a b' }, /'a b' does not fit the pattern/],
    [{ wait: '1s', word: 'a'.repeat(300) }, /longer than 256 characters/],
    [{ wait: '1s', toString: 'x' }, /has no input 'toString'/],
  ])('%j is refused', async (given, message) => {
    const loaded = await cookbook();
    const error = await thrownBy(() => bindInputs(loaded, given));
    expect(error.message).toMatch(message);
    expect(error).toMatchObject({ exit: 2 });
  });
});
