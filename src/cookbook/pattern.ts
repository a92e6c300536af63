/** A value that is matched against a pattern may be this long. */
const LONGEST_VALUE = 256;

/**
 * Compiles the `pattern` of an input, which must fit the whole value. Throws an Error for what is no regular expression
 * and for what JavaScript's engine could work at for minutes: repetition of something that itself repeats or offers a
 * choice, and references back.
 */
export const compilePattern = (pattern: string): RegExp => {
  if (/\\[1-9k]/.test(pattern)) throw new Error('a pattern cannot refer back to a part of itself');
  if (repeatsRepetition(pattern))
    throw new Error('a pattern cannot repeat what itself repeats or offers a choice');
  try {
    return new RegExp(`^(?:${pattern})$`, 'u');
  } catch {
    throw new Error('this is not a regular expression');
  }
};

/** Throws an Error when a value does not fit. */
export const requirePattern = (pattern: string, value: string): void => {
  if (value.length > LONGEST_VALUE) throw new Error(`longer than ${LONGEST_VALUE} characters`);
  if (!compilePattern(pattern).test(value)) throw new Error(`'${value}' does not fit the pattern ${pattern}`);
};

const QUANTIFIER = /^(?:[*+]|\{\d+(?:,\d*)?\})/;

/** Looks at groups and what follows them; characters that are escaped or in a class mean themselves. */
const repeatsRepetition = (pattern: string): boolean => {
  const groups: { isLoose: boolean }[] = [{ isLoose: false }];
  const tokens = pattern.matchAll(/\\.|\[(?:\\.|[^\]\\])*\]|[()|]|[*+]|\{\d+(?:,\d*)?\}|./gsu);
  for (const { 0: token, index } of tokens) {
    if (token === '(') groups.push({ isLoose: false });
    else if (token === ')') {
      const closed = groups.pop();
      const isRepeated = QUANTIFIER.test(pattern.slice(index + 1));
      if (closed?.isLoose === true && isRepeated) return true;
      const around = groups.at(-1);
      if (around && (closed?.isLoose === true || isRepeated)) around.isLoose = true;
    } else if (token === '|' || QUANTIFIER.test(token)) {
      const group = groups.at(-1);
      if (group) group.isLoose = true;
    }
  }
  return false;
};
