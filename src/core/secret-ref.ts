import { execa } from 'execa';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CertrollError, EXIT, messageOf } from './errors.js';
import { Secret } from './secret.js';

/** Where a secret is to be had; the cluster file never holds one itself. */
export type SecretRef =
  { readonly file: string } | { readonly env: string } | { readonly command: readonly string[] };

const describe = (ref: SecretRef): string => {
  if ('file' in ref) return `file ${ref.file}`;
  return 'env' in ref ? `environment variable ${ref.env}` : `command ${ref.command[0] ?? ''}`;
};

const read = async (ref: SecretRef, baseDir: string): Promise<string> => {
  if ('file' in ref) return readFile(resolve(baseDir, ref.file), 'utf8');
  if ('env' in ref) {
    const value = process.env[ref.env];
    if (value === undefined) throw new Error('it is not set');
    return value;
  }
  const [program = '', ...args] = ref.command;
  const { stdout } = await execa(program, args, { cwd: baseDir, stdin: 'ignore', timeout: 30_000 }).catch(
    (thrown: unknown) => {
      // execa's message holds all arguments and output; either may be the secret.
      const { exitCode, shortMessage } = thrown as { exitCode?: number; shortMessage?: string };
      throw new Error(
        exitCode === undefined
          ? (shortMessage ?? '').split('\n')[0]?.slice(0, 40)
          : `it exited with ${exitCode}`,
      );
    },
  );
  return stdout;
};

/** Reads a secret, less one line end. Throws `secret.unreadable` (exit 2) naming the reference, never the value. */
export const readSecretRef = async (ref: SecretRef, baseDir: string): Promise<Secret> => {
  try {
    const value = (await read(ref, baseDir)).replace(/\r?\n$/, '');
    if (value === '') throw new Error('it is empty');
    return new Secret(value);
  } catch (thrown) {
    throw new CertrollError(`cannot read the secret from ${describe(ref)}: ${messageOf(thrown)}`, {
      code: 'secret.unreadable',
      exit: EXIT.usage,
      hint: 'The cluster file names where the secret is; see that it is there and readable by you.',
    });
  }
};
