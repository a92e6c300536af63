import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { z } from 'zod';
import { CertrollError } from '../../../src/core/errors.js';
import { loadYaml } from '../../../src/core/yaml-document.js';
import { tempFolder, thrownBy } from '../../support/temp.js';

const folder = tempFolder();

const schema = z.strictObject({
  name: z.string(),
  port: z.int().optional(),
  mode: z.enum(['per-host', 'shared']).optional(),
  password: z.strictObject({ file: z.string() }).optional(),
  issuer: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('cfssl'), url: z.string() }),
      z.strictObject({ type: z.literal('none') }),
    ])
    .optional(),
  service: z
    .union([
      z.strictObject({ systemd: z.string() }),
      z.strictObject({ command: z.strictObject({ restart: z.array(z.string()), pidFile: z.string() }) }),
      z.literal(false),
    ])
    .optional(),
  ports: z.record(z.string().regex(/^[a-z]+$/, 'lower-case letters'), z.int()).optional(),
});

const load = async (text: string | Uint8Array) =>
  loadYaml(folder.write('f.yaml', text), schema, 'cluster-file.invalid');
const failure = async (text: string | Uint8Array) => thrownBy(() => load(text));

describe('a YAML file that does not fit', () => {
  it.each([
    ['an unknown key', 'name: x\nprot: 1\n', "2:1: unknown key 'prot'; did you mean 'port'?"],
    ['an unknown key that is like none', 'name: x\nzzz: 1\n', "2:1: unknown key 'zzz'; known: name, port"],
    ['a wrong type', 'name: x\nport: high\n', '2:7: port: expected number, received string'],
    ['a missing key', 'port: 1\n', "1:1: 'name' is missing"],
    ['a missing key further in', 'name: x\nissuer:\n  type: cfssl\n', "2:1: 'url' is missing in issuer"],
    ['a key without a value', 'name:\nport: 1\n', '1:6: name: there is no value'],
    [
      'a word that is none of those known',
      'name: x\nmode: perhost\n',
      "2:7: mode: 'perhost' is not one of per-host, shared; did you mean 'per-host'?",
    ],
    [
      'an unknown kind',
      'name: x\nissuer: { type: cffsl }\n',
      "2:17: issuer.type: 'cffsl' is not one of cfssl, none; did you mean 'cfssl'?",
    ],
    [
      'one of several forms, with a slip in it',
      'name: x\nservice: { command: { restrat: [a], pidFile: b } }\n',
      "2:23: unknown key 'restrat' in service.command; did you mean 'restart'?",
    ],
    ['a name that may not be one', 'name: x\nports: { A1: 5 }\n', "2:10: the name 'A1': lower-case letters"],
    ['a duplicate key', 'name: x\nname: y\n', '2:1: Map keys must be unique'],
    ['an unknown tag', 'name: !env X\n', '1:7: unknown tag !env'],
    ['an alias before its anchor', 'name: *a\nport: &a 5\n', "1:7: there is no '&a' before this '*a'"],
    ['an alias inside its anchor', 'name: x\nports: &p { a: *p }\n', "2:16: '*p' stands inside what it"],
    ['a tab', 'name: x\nports:\n\ta: 1\n', '3:1: tabs cannot indent; use spaces'],
    ['two documents', 'name: x\n---\nname: y\n', '2:1: one document only'],
    ['an older YAML', '%YAML 1.1\n---\nname: yes\n', '1:1: the file must be YAML 1.2'],
    ['a key that is no text', '[a, b]: c\n', '1:1: a key must be plain text'],
    ['the key of keys', 'name: x\n__proto__: { port: 1 }\n', "2:1: '__proto__' cannot be a key"],
    ['an open quote', 'name: "x\n', /[12]:\d+: Missing closing "quote/],
    ['a list', '- a\n', '1:1: the file: expected object, received array'],
    ['nothing', '', '1:1: the file is empty'],
    ['a comment only', '# later\n', '1:1: the file is empty'],
    ['too many aliases', `name: &a x\nports: [${'*a,'.repeat(101)}]\n`, /2:\d+: more than 100 aliases/],
    [
      'aliases that multiply',
      `name: &a [x,x,x,x,x,x,x,x,x]\nport: &b [${'*a,'.repeat(9)}]\nmode: &c [${'*b,'.repeat(9)}]\nissuer: [${'*c,'.repeat(9)}]\n`,
      '1:1: the aliases of this file multiply without bounds',
    ],
  ])('because of %s says so, with its place', async (_what, text, expected) => {
    const error = await failure(text);
    expect(error).toBeInstanceOf(CertrollError);
    expect(error).toMatchObject({ code: 'cluster-file.invalid', exit: 2 });
    const message = error.message.replaceAll(`${folder.path}/f.yaml:`, '');
    if (typeof expected === 'string') expect(message).toContain(expected);
    else expect(message).toMatch(expected);
  });

  it('shows the line with a caret below the place, and every problem in the order of the file', async () => {
    const { message } = await failure('name: [x]\nprot: 1\n');
    expect(message.replaceAll(`${folder.path}/`, '')).toBe(
      [
        'f.yaml:1:7: name: expected string, received array',
        '    name: [x]',
        '          ^',
        "f.yaml:2:1: unknown key 'prot'; did you mean 'port'?",
        '    prot: 1',
        '    ^',
      ].join('\n'),
    );
  });

  it('points into what an alias stands for', async () => {
    const { message } = await failure('name: &n [1]\nport: *n\n');
    expect(message).toContain('f.yaml:1:10: name: expected string');
    expect(message).toContain('f.yaml:1:10: port: expected number');
  });

  it('lists thirty problems and counts the rest', async () => {
    const { message } = await failure(Array.from({ length: 40 }, (_, i) => `key${i}: 1\n`).join(''));
    expect(message.match(/unknown key/g)).toHaveLength(29);
    expect(message).toContain('… and 11 more');
  });

  it('does not show a secret that stands where a reference should', async () => {
    const { message } = await failure('name: x\npassword: hunter2\n');
    expect(message).toContain('f.yaml:2:11: password: expected object');
    expect(message).not.toContain('hunter2');
    const key = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj';
    const pasted = await failure(`name: x\nmode: ${key}\n`);
    expect(pasted.message).toContain('mode: expected one of per-host, shared');
    expect(pasted.message).not.toContain(key.slice(0, 20));
  });

  it('does not let the file write to the terminal', async () => {
    const { message } = await failure('name: x\nport: "\u001b]0;pwned\u0007"\n');
    expect(message).not.toMatch(/[\u001b\u0007]/);
  });

  it('cuts a very long line around the place', async () => {
    const { message } = await failure(`{ name: ${'x'.repeat(500)}, prot: 1, port: 2 }\n`);
    const [, line = '', caret = ''] = message.split('\n');
    expect(line.length).toBeLessThan(130);
    expect(line.slice(caret.indexOf('^'))).toMatch(/^prot: 1/);
  });
});

describe('a file that is no YAML text', () => {
  it.each([
    ['that is not there', '/nowhere/f.yaml', 'cannot read /nowhere/f.yaml: there is no such file'],
    ['that is a folder', folder.path, 'it is a folder'],
    ['that has no end', '/dev/zero', 'it is larger than 1 MiB'],
  ])('%s', async (_what, path, message) => {
    const error = await thrownBy(() => loadYaml(path, schema, 'cookbook.invalid'));
    expect(error.message).toContain(message);
    expect(error).toMatchObject({ code: 'cookbook.invalid', exit: 2 });
  });

  it('is refused where its bytes stop being UTF-8', async () => {
    expect((await failure(Buffer.from([0x61, 0x0a, 0x62, 0xff]))).message).toContain(
      'f.yaml:2:2: this is not UTF-8 text',
    );
    expect((await failure(Buffer.from('name: x', 'utf16le'))).message).toMatch(/f\.yaml:/);
  });
});

describe('a YAML file that fits', () => {
  it.each([
    ['with a byte order mark', '\ufeffname: x\nport: 2\n'],
    ['with Windows line ends', 'name: x\r\nport: 2\r\n'],
    ['as JSON', '{"name": "x",\n"port": 2}'],
  ])('%s', async (_what, text) => {
    const document = await load(text);
    expect(document.value).toEqual({ name: 'x', port: 2 });
    expect(document.positionOf(['port']).line).toBe(2);
    expect(document.keyPositionOf(['port'])).toEqual({ line: 2, column: 1 });
  });

  it('tells where a missing value would be: at its parent', async () => {
    const document = await load('name: x\nissuer:\n  type: none\n');
    expect(document.positionOf(['issuer', 'url'])).toEqual({ line: 2, column: 1 });
    expect(document.positionOf(['service', 'command', 'restart', 3])).toEqual({ line: 1, column: 1 });
  });

  it.each([
    ['plain', 'name: inputs.x && b\n', 12, [1, 19]],
    ['in double quotes with escapes', 'name: "a\\t\\u0041 b"\n', 4, [1, 18]],
    ['in single quotes with a quote', "name: 'it''s b'\n", 5, [1, 14]],
    ['in a block', 'name: |\n  first\n  second b\n', 13, [3, 10]],
    ['in a folded block', 'name: >-\n  first\n  second b\n', 13, [3, 10]],
    ['plain over two lines', 'name: first\n  second b\n', 13, [2, 10]],
    ['in quotes over two lines', 'name: "first\n  second b"\n', 13, [2, 10]],
  ])('tells where a character of a text stands: %s', async (_what, text, offset, [line, column]) => {
    const document = await load(text);
    expect(document.value.name[offset]).toMatch(/[b&]/);
    expect(document.positionOf(['name'], offset)).toEqual({ line, column });
  });

  it('finds each character of any text in the source, however it is quoted and folded', async () => {
    const style = fc.constantFrom('PLAIN', 'QUOTE_DOUBLE', 'QUOTE_SINGLE', 'BLOCK_LITERAL', 'BLOCK_FOLDED');
    const text = fc.string({
      unit: fc.constantFrom('a', 'b', '7', ' ', '\n', "'", '"', '\\', ':', 'é'),
      maxLength: 120,
    });
    await fc.assert(
      fc.asyncProperty(text, style, async (name, defaultStringType) => {
        const source = stringify({ name: `x${name}y` }, { defaultStringType, lineWidth: 30 });
        const document = await load(source);
        const lines = source.split('\n');
        for (let offset = 0; offset < document.value.name.length; offset += 1) {
          const char = document.value.name.charAt(offset);
          const { line, column } = document.positionOf(['name'], offset);
          const there = lines[line - 1]?.[column - 1];
          if (there !== '\\' && char.trim() !== '')
            expect({ source, offset, there }).toMatchObject({ there: char });
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('whatever a file holds', () => {
  it('it is loaded, or refused with one error whose places are all inside it', async () => {
    const piece = fc.oneof(
      fc.constantFrom(
        'name: x\n',
        'port: ',
        'issuer:\n',
        '  type: ',
        '- ',
        '{',
        '}',
        '[',
        ']',
        '"',
        "'",
        '|\n',
      ),
      fc.constantFrom(
        '&a ',
        '*a',
        '!x ',
        '\t',
        '\n',
        ': ',
        '#',
        '---\n',
        '%YAML 1.1\n',
        '>-\n',
        '? ',
        '\r\n',
      ),
      fc.string({ maxLength: 4 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 20 }), async (pieces) => {
        const text = pieces.join('');
        const lines = text.replace(/^\ufeff/, '').split('\n');
        const error: unknown = await load(text).then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        if (error === undefined) return;
        expect(error).toBeInstanceOf(CertrollError);
        const { message } = error as CertrollError;
        for (const [, line, column] of message.matchAll(/f\.yaml:(\d+):(\d+): /g)) {
          expect(Number(line)).toBeLessThanOrEqual(lines.length);
          expect(Number(column)).toBeLessThanOrEqual((lines[Number(line) - 1] ?? '').length + 1);
        }
      }),
      { numRuns: 1000 },
    );
  });
});
