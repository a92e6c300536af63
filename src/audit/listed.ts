/** As many as a sentence bears; the rest is counted. */
const MOST = 5;

/** `a, b, c` or `a, b, c, d, e and 58 more`. */
export const listed = (names: readonly string[]): string =>
  names.length > MOST
    ? `${names.slice(0, MOST).join(', ')} and ${names.length - MOST} more`
    : names.join(', ');
