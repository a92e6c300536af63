import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { expandHosts, foldHosts } from '../../../src/hosts/expression.js';

/** The Python that Debian's package clustershell is installed for. */
const PYTHON = '/usr/bin/python3';

/** Reads expressions from stdin and answers each with its hosts, its folded form, or null for an error. */
const JUDGE = `
import json, sys
from ClusterShell.NodeSet import NodeSet
def judge(text):
    try:
        nodes = NodeSet(text)
        return {'hosts': sorted(nodes), 'folded': str(nodes)}
    except Exception:
        return None
json.dump([judge(text) for text in json.load(sys.stdin)], sys.stdout)
`;

/** One run judges a whole batch in one process; shrinking would start hundreds of them. */
const BATCHED = { endOnFailure: true };

interface Judgement {
  readonly hosts: readonly string[];
  readonly folded: string;
}

const judge = (expressions: readonly string[]): (Judgement | null)[] => {
  const { stdout, stderr, status } = spawnSync(PYTHON, ['-c', JUDGE], {
    input: JSON.stringify(expressions),
    maxBuffer: 1 << 30,
  });
  if (status !== 0) throw new Error(`ClusterShell did not answer: ${stderr.toString()}`);
  return JSON.parse(stdout.toString()) as (Judgement | null)[];
};

/** Generators of what people write: names, numbers with and without padding, ranges, steps. */
const digits = fc
  .tuple(fc.nat(130), fc.constantFrom(0, 0, 2, 3))
  .map(([value, width]) => String(value).padStart(width, '0'));
const range = fc
  .tuple(digits, fc.nat(12), fc.constantFrom('', '', '/1', '/2', '/3'))
  .map(([from, more, step]) => `${from}-${String(Number(from) + more).padStart(from.length, '0')}${step}`);
const list = fc
  .array(fc.oneof(digits, range), { minLength: 1, maxLength: 3 })
  .map((parts) => `[${parts.join(',')}]`);
const word = fc.constantFrom('cp', 'n', 'node-a', 'x1y', 'w0');
const operand = fc.oneof(
  fc.tuple(word, digits).map((parts) => parts.join('')),
  fc.tuple(word, list, fc.constantFrom('', '.net', '-b', '7')).map((parts) => parts.join('')),
  fc
    .tuple(word, list, fc.constantFrom('-r', 'z.'), list, fc.constantFrom('', '.example.net'))
    .map((parts) => parts.join('')),
);
const operator = fc
  .tuple(fc.constantFrom('', ' '), fc.constantFrom(',', '!', '&', '^'), fc.constantFrom('', ' '))
  .map((parts) => parts.join(''));
const expression = fc
  .tuple(operand, fc.array(fc.tuple(operator, operand), { maxLength: 4 }))
  .map(([first, rest]) => first + rest.map((parts) => parts.join('')).join(''));
/** Digits beside a bracket, on which certroll is stricter; a test of its own has them. */
const isPlain = (text: string): boolean => !/\d\[[^\]]*[-,]|[-,][^\]]*\]\d/.test(text);
/** The same with one character changed: mostly mistakes. No numbers that would keep ClusterShell busy for minutes. */
const mistaken = fc
  .tuple(expression, fc.nat(), fc.constantFrom('[', ']', ',', '-', '/', '0', 'x', ''))
  .map(([text, at, char]) => text.slice(0, at % text.length) + char + text.slice((at % text.length) + 1))
  .filter((text) => !/\d{5}/.test(text));

describe('host expressions, judged by ClusterShell itself', () => {
  beforeAll(() => {
    const { status } = spawnSync(PYTHON, ['-c', 'import ClusterShell']);
    if (status !== 0) throw new Error('this test needs ClusterShell: apt-get install clustershell');
  });

  it('names the same hosts as ClusterShell does', () => {
    fc.assert(
      fc.property(fc.array(expression.filter(isPlain), { minLength: 100, maxLength: 200 }), (expressions) => {
        judge(expressions).forEach((judgement, index) => {
          const text = expressions[index] ?? '';
          expect({ text, hosts: expandOrNothing(text) }).toEqual({ text, hosts: judgement?.hosts });
        });
      }),
      { numRuns: 6, ...BATCHED },
    );
  });

  it('accepts nothing that ClusterShell refuses, and reads the rest alike', () => {
    fc.assert(
      fc.property(fc.array(mistaken, { minLength: 100, maxLength: 200 }), (expressions) => {
        judge(expressions).forEach((judgement, index) => {
          const text = expressions[index] ?? '';
          const hosts = attempt(() => expandHosts(text).sort());
          if (hosts !== undefined) expect({ text, hosts }).toEqual({ text, hosts: judgement?.hosts });
        });
      }),
      { numRuns: 6, ...BATCHED },
    );
  });

  it('folds to what ClusterShell reads as the same hosts, and as shortly where one number differs', () => {
    const names = fc.uniqueArray(
      digits.map((text) => `cp${text}.example.net`),
      { minLength: 1, maxLength: 20 },
    );
    fc.assert(
      fc.property(fc.array(names, { minLength: 50, maxLength: 50 }), (sets) => {
        judge(sets.map(foldHosts)).forEach((judgement, index) => {
          const set = sets[index] ?? [];
          expect(judgement?.hosts).toEqual([...set].sort());
          expect(foldHosts(set).length).toBeLessThanOrEqual((judgement?.folded ?? '').length);
        });
      }),
      { numRuns: 4, ...BATCHED },
    );
  });
});

/** ClusterShell takes an expression that leaves no host; certroll has no use for one. */
const expandOrNothing = (text: string): string[] => {
  try {
    return expandHosts(text).sort();
  } catch (error) {
    if (String(error).includes('no host is left')) return [];
    throw error;
  }
};

const attempt = <T>(action: () => T): T | undefined => {
  try {
    return action();
  } catch {
    return undefined;
  }
};
