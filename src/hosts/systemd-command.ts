/**
 * The command line that systemd would start a unit with now, from what `systemctl show` says of it and from its
 * environment files. Rules: systemd.service(5) "Command lines", systemd.exec(5) "EnvironmentFile=".
 */
export interface UnitStart {
  /** The property ExecStart: `{ path=… ; argv[]=… ; ignore_errors=… }`. */
  readonly execStart: string;
  /** The property Environment: assignments between blanks, quoted where they hold some. */
  readonly environment: string;
  /** The texts of all environment files, in order. */
  readonly environmentFiles: string;
}

/** Words between blanks; quotes keep blanks together and are taken away. */
const splitWords = (text: string): readonly string[] => {
  const words: string[] = [];
  for (const [word] of text.matchAll(/(?:[^\s"'\\]|\\[\s\S]|"(?:[^"\\]|\\[\s\S])*"|'[^']*')+/g))
    words.push(unquote(word));
  return words;
};

const unquote = (word: string): string =>
  word.replace(
    /\\\n|\\([\s\S])|"((?:[^"\\]|\\[\s\S])*)"|'([^']*)'/g,
    (all: string, escaped?: string, double?: string, single?: string) => {
      if (escaped !== undefined) return escaped;
      if (single !== undefined) return single;
      return double === undefined
        ? ''
        : double.replace(/\\(\n|[\s\S])/g, (_all, next: string) => (next === '\n' ? '' : next));
    },
  );

/** `NAME=value` lines; a value may be quoted, and go on behind a backslash at the end of its line. */
const readEnvironmentFile = (text: string): ReadonlyMap<string, string> => {
  const variables = new Map<string, string>();
  const line = /^[ \t]*([A-Za-z_]\w*)[ \t]*=[ \t]*((?:"(?:[^"\\]|\\[\s\S])*"|'[^']*'|\\[\s\S]|[^\n"'\\])*)/gm;
  for (const [, name = '', value = ''] of text.replace(/^[ \t]*[#;].*$/gm, '').matchAll(line))
    variables.set(name, unquote(value).trim());
  return variables;
};

const assignments = (text: string): ReadonlyMap<string, string> =>
  new Map(
    splitWords(text).flatMap((word) => {
      const equals = word.indexOf('=');
      return equals < 1 ? [] : [[word.slice(0, equals), word.slice(equals + 1)] as const];
    }),
  );

/** `$NAME` as a word of its own becomes several words, `${NAME}` stays inside its word. */
const expand = (word: string, variables: ReadonlyMap<string, string>): readonly string[] => {
  const alone = /^\$([A-Za-z_]\w*)$/.exec(word)?.[1];
  if (alone !== undefined) return splitWords(variables.get(alone) ?? '');
  return [
    word.replace(/\$\$|\$\{([A-Za-z_]\w*)\}/g, (all, name?: string) =>
      name === undefined ? '$' : (variables.get(name) ?? ''),
    ),
  ];
};

/**
 * The arguments, program first. Undefined when the unit starts something that takes no flags of its own, such as
 * a script: then nobody can tell from here.
 */
export const startCommand = (unit: UnitStart): readonly string[] | undefined => {
  const argv = /argv\[\]=(.*?) ; ignore_errors=/s.exec(unit.execStart)?.[1];
  if (argv === undefined) return undefined;
  // Files win over Environment=, as the manual says.
  const variables = new Map([
    ...assignments(unit.environment),
    ...readEnvironmentFile(unit.environmentFiles),
  ]);
  const words = splitWords(argv).flatMap((word) => expand(word, variables));
  return words.slice(1).some((word) => word.startsWith('--')) ? words : undefined;
};
