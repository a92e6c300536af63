import type { ExecaError } from 'execa';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CertrollError, EXIT, messageOf } from './errors.js';
import { Secret } from './secret.js';

/** Where a secret is to be had; the cluster file never holds one itself. */
export type SecretRef =
  { readonly file: string } | { readonly env: string } | { readonly command: readonly string[] };

/** Long enough for a person to touch a hardware token. */
const COMMAND_MS = 60_000;

/**
 * Reads a secret, less one line end. Files and commands are relative to `baseDir`. Throws `secret.unreadable` (exit 2),
 * which names the reference and never the value.
 */
export const readSecretRef = async (ref: SecretRef, baseDir: string): Promise<Secret> => {
  try {
    const value = withoutLineEnd(await read(ref, baseDir));
    if (value.length === 0) throw new Error('it is empty');
    return new Secret(value);
  } catch (thrown) {
    throw new CertrollError(`cannot read the secret from the ${describe(ref)}: ${messageOf(thrown)}`, {
      code: 'secret.unreadable',
      exit: EXIT.usage,
      hint: 'The cluster file names where the secret is: see that it is there and that you may read it.',
    });
  }
};

/** Only the program of a command: an argument may be a secret by itself. */
const describe = (ref: SecretRef): string => {
  if ('file' in ref) return `file ${ref.file}`;
  return 'env' in ref ? `environment variable ${ref.env}` : `command ${ref.command[0] ?? ''}`;
};

const read = async (ref: SecretRef, baseDir: string): Promise<Uint8Array> => {
  if ('file' in ref) return readFile(resolve(baseDir, ref.file));
  if ('command' in ref) return output(ref.command, baseDir);
  const value = process.env[ref.env];
  if (value === undefined) throw new Error('it is not set');
  return Buffer.from(value);
};

const output = async ([program = '', ...args]: readonly string[], cwd: string): Promise<Uint8Array> => {
  // Few secrets come from a command; the others need not load it.
  const { execa, ExecaError: Failed } = await import('execa');
  try {
    const { stdout } = await execa(program, args, {
      cwd,
      encoding: 'buffer',
      stripFinalNewline: false,
      // A command that asks for a PIN has its say on the terminal.
      stderr: 'inherit',
      stdin: 'inherit',
      timeout: COMMAND_MS,
    });
    return stdout;
  } catch (thrown) {
    // execa's messages hold all arguments and the output; either may be the secret.
    throw new Error(thrown instanceof Failed ? whyItFailed(thrown as ExecaError) : 'it could not be started');
  }
};

const whyItFailed = (error: ExecaError): string => {
  if (error.timedOut) return `it did not end within ${COMMAND_MS / 1000} s`;
  if (error.signal !== undefined) return `it was ended by ${error.signal}`;
  return error.exitCode === undefined
    ? `it could not be started (${error.code ?? 'unknown reason'})`
    : `it exited with ${error.exitCode}`;
};

const withoutLineEnd = (bytes: Uint8Array): Uint8Array => {
  const end = bytes.at(-1) === 0x0a ? bytes.length - 1 : bytes.length;
  return bytes.subarray(0, end > 0 && end < bytes.length && bytes[end - 1] === 0x0d ? end - 1 : end);
};
