/** A word in which every reference was looked up: text, and the names of variables that nobody here knows. */
export type Expanded = readonly (string | { readonly unknown: string })[];

/**
 * The references of a container's `command`, `args` and `env`: `$(NAME)` is replaced, `$$` stands for one dollar sign, any
 * other dollar sign is text. Rules: "Variable references" of the API's Container, as kubelet's expansion package reads them.
 */
export const expand = (word: string, known: ReadonlyMap<string, string>): Expanded => {
  const parts: (string | { readonly unknown: string })[] = [];
  const add = (text: string): void => {
    const last = parts.at(-1);
    if (typeof last === 'string') parts[parts.length - 1] = last + text;
    else parts.push(text);
  };
  for (const [, name, plain] of word.matchAll(/\$\$|\$\(([^)]*)\)|(\$|[^$]+)/gs)) {
    if (plain !== undefined) add(plain);
    else if (name === undefined) add('$');
    else {
      const value = known.get(name);
      if (value === undefined) parts.push({ unknown: name });
      else add(value);
    }
  }
  return parts;
};

/** The word itself, with references that are not known as they were written, which is what kubelet makes of them. */
export const asWritten = (word: Expanded): string =>
  word.map((part) => (typeof part === 'string' ? part : `$(${part.unknown})`)).join('');

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/** Whether a word of a running process can be what this one became. */
export const couldBe = (word: Expanded, running: string): boolean =>
  new RegExp(`^${word.map((part) => (typeof part === 'string' ? escaped(part) : '[^]*')).join('')}$`).test(
    running,
  );
