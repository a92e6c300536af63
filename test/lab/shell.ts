import { stderr } from 'node:process';
import { execa } from 'execa';

export interface RunOptions {
  readonly input?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Shows the command's output while it runs, for what takes minutes. */
  readonly show?: boolean;
}

/** Runs one command from its argument list and returns what it printed. Throws when it fails. */
export const run = async (argv: readonly string[], options: RunOptions = {}): Promise<string> => {
  const [file = '', ...args] = argv;
  const result = await execa(file, args, {
    ...(options.input === undefined ? { stdin: 'ignore' } : { input: options.input }),
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
