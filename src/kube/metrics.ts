/**
 * The sum of a counter over all its labels, from metrics in Prometheus' text format. 0 when it is not there: a counter
 * that was never raised may be left out.
 */
export const counterIn = (text: string, name: string): number => {
  let sum = 0;
  for (const line of text.split('\n')) {
    const [, found, value] = /^([A-Za-z_:][\w:]*)(?:\{[^}]*\})?\s+(\S+)/.exec(line) ?? [];
    if (found === name) sum += Number(value);
  }
  return sum;
};
