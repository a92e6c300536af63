import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bindInputs } from '../../../src/cookbook/inputs.js';
import { findCookbooks, loadCookbook } from '../../../src/cookbook/load.js';
import { CertrollError } from '../../../src/core/errors.js';
import { stepCatalog } from '../../../src/steps/catalog.js';
import { tempFolder, thrownBy } from '../../support/temp.js';

const folder = tempFolder();
const head = 'name: mine\ndescription: d\n';
const load = async (text: string) => loadCookbook(folder.write('mine.yaml', text), [], stepCatalog);
const failure = async (text: string) => thrownBy(() => load(text));

describe('the shipped cookbooks', () => {
  it.each([...findCookbooks([]).keys()])(
    '%s can be loaded by name, and its name is that of its file',
    async (name) => {
      expect((await loadCookbook(name, [], stepCatalog)).name).toBe(name);
    },
  );
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
      /mine\.yaml:5:19: apiserver\/restart has no setting 'onyl'; did you mean 'only'\?/,
    ],
    [
      'an unknown input in an expression',
      'inputs: { force: { type: boolean } }\nsteps:\n  - uses: sa-keys/issue\n    when: ${{ inputs.forse }}\n',
      /mine\.yaml:6:15: unknown input 'forse'; did you mean 'force'\?/,
    ],
    [
      'an output of a later step',
      'steps:\n  - uses: sa-keys/issue\n    when: steps.publish.keys > 0\n  - uses: sa-keys/publish\n',
      /mine\.yaml:5:11: unknown earlier step 'publish'/,
    ],
    [
      'an unknown output',
      'steps:\n  - uses: sa-keys/issue\n  - uses: sa-keys/publish\n    when: steps.issue.kyes > 0\n',
      /mine\.yaml:6:11: unknown output of step 'issue' 'kyes'; did you mean 'keys'\?/,
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
      '#',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(pieces, { maxLength: 25 }), async (parts) => {
        const text = parts.join('');
        const error = await load(text).then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        if (error === undefined) return;
        expect(error).toBeInstanceOf(CertrollError);
        for (const [, line] of (error as Error).message.matchAll(/mine\.yaml:(\d+):\d+: /g)) {
          expect(Number(line)).toBeLessThanOrEqual(text.split('\n').length);
        }
      }),
    );
  });
});

describe('inputs', () => {
  const cookbook = async () =>
    load(
      `${head}inputs:\n  force: { type: boolean, default: false }\n  only: { type: string, choices: [stale, all] }\n  wait: { type: duration, required: true }\nsteps:\n  - uses: sa-keys/issue\n`,
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
  ])('%j is refused', async (given, message) => {
    const loaded = await cookbook();
    const error = await thrownBy(() => bindInputs(loaded, given));
    expect(error.message).toMatch(message);
    expect(error).toMatchObject({ exit: 2 });
  });
});
