/**
 * The one place where a remote command line is made. sshd hands it to the login shell, so every
 * word is quoted for a POSIX shell: nothing in it is ever expanded, split or run. Plain words too,
 * for `if` and `time` would be keywords.
 *
 * Throws a `TypeError` for a NUL, which no command line can carry.
 */
export const commandLine = (words: readonly string[]): string => words.map(quote).join(' ');

const quote = (word: string): string => {
  if (word.includes('\0')) throw new TypeError('a command word holds a NUL character');
  return `'${word.replaceAll("'", `'\\''`)}'`;
};
