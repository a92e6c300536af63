import { Environment } from '@marcbachmann/cel-js';
import { parseDuration } from '../core/duration.js';
import { messageOf } from '../core/errors.js';
import { suggest } from '../core/suggest.js';

/** Long enough for any condition; the parser and the checks are not to be given a book. */
export const MAX_LENGTH = 1000;

const MS_PER_DAY = 86_400_000;

/** The language of expressions: CEL, and what durations are for. */
export const newEnvironment = (options: { readonly isTyped: boolean }): Environment =>
  new Environment({
    unlistedVariablesAreDyn: !options.isTyped,
    homogeneousAggregateLiterals: false,
    limits: { maxAstNodes: 1000, maxDepth: 50 },
  })
    .registerFunction('days(string): double', (text: string) => parseDuration(text) / MS_PER_DAY)
    .registerFunction('millis(string): int', (text: string) => BigInt(parseDuration(text)));

const FUNCTIONS: readonly string[] = newEnvironment({ isTyped: false })
  .getDefinitions()
  .functions.map(({ name }) => name)
  .filter((name) => /^[a-z]\w*$/.test(name) && !['matches', 'bind', 'duration'].includes(name));

/** One line of what CEL says, in the words of this program where it can be clearer. */
export const clearMessage = (thrown: unknown): string => {
  const text = messageOf(thrown).split('\n')[0] ?? '';
  const [, receiver, name, given] =
    /^found no matching overload for '(?:(.+)\.)?(\w+)\((.*)\)'$/.exec(text) ?? [];
  if (text === 'Unexpected token: EOF') return 'the expression ends too soon';
  if (text.startsWith('Unexpected character')) return 'this does not belong here';
  if (name === undefined) return text;
  if (!FUNCTIONS.includes(name)) {
    const hint = suggest(name, FUNCTIONS);
    return hint.startsWith('did') ? `unknown function '${name}'; ${hint}` : `unknown function '${name}'`;
  }
  const on = receiver === undefined ? '' : ` on ${receiver}`;
  return `'${name}' cannot be called${on} with (${given ?? ''})`;
};
