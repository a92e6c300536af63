import { stderr } from 'node:process';
import { execa } from 'execa';

export interface RunOptions {
  readonly input?: string;
  /** A file to be read as standard input. */
  readonly inputFile?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Shows the command's output while it runs, for what takes minutes. */
  readonly show?: boolean;
}

/** What the command reads: nothing, unless told. */
const stdinOf = ({ input, inputFile }: RunOptions) => {
  if (inputFile !== undefined) return { inputFile };
  return input === undefined ? ({ stdin: 'ignore' } as const) : { input };
};

/** Runs one command from its argument list and returns what it printed. Throws when it fails. */
export const run = async (argv: readonly string[], options: RunOptions = {}): Promise<string> => {
  const [file = '', ...args] = argv;
  const result = await execa(file, args, {
    ...stdinOf(options),
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.env === undefined ? {} : { env: { ...options.env } }),
    ...(options.show ? { stdout: ['pipe', 'inherit'], stderr: ['pipe', 'inherit'] } : {}),
  });
  return result.stdout;
};

/** Tells the person who waits what is going on. On stderr: stdout belongs to the command's answer. */
export const say = (text: string): void => {
  stderr.write(`lab: ${text}\n`);
};
