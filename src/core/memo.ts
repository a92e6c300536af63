/**
 * A function that remembers what it gave for a text, for the last so many texts. For pure functions of public texts only:
 * what it was given stays in memory.
 */
export const memo = <T>(most: number, compute: (text: string) => T): ((text: string) => T) => {
  const known = new Map<string, T>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const value = compute(text);
    const [oldest] = known.keys();
    if (known.size >= most && oldest !== undefined) known.delete(oldest);
    known.set(text, value);
    return value;
  };
};
