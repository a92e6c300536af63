import { Chalk } from 'chalk';
import { stripVTControlCharacters } from 'node:util';
import { CertrollError, EXIT, messageOf } from '../core/errors.js';

export interface ErrorStyle {
  readonly color: boolean;
  /** Show the code, the causes and the stack. */
  readonly debug: boolean;
}

/** Messages have lines of their own, and may quote what a host said: everything that is not text goes. */
const printable = (text: string): string =>
  stripVTControlCharacters(text).replaceAll(/[^\P{Cc}\n\t]/gu, '\ufffd');

const causes = (error: Error): readonly string[] => {
  const found: string[] = [];
  for (let cause = error.cause; cause instanceof Error && found.length < 10; cause = cause.cause)
    found.push(`caused by ${cause.name}: ${cause.message}`);
  return found;
};

/** What went wrong and what to do, for people. */
export const renderError = (thrown: unknown, style: ErrorStyle): string => {
  const chalk = new Chalk({ level: style.color ? 1 : 0 });
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const known = error instanceof CertrollError;
  const lines = [`${chalk.red.bold('certroll:')} ${printable(error.message)}`];
  // Nearly every message names its host; this is for those that do not.
  if (known && error.host !== undefined && !error.message.includes(error.host))
    lines.push(`${chalk.bold('host:')} ${printable(error.host)}`);
  if (known && error.hint !== undefined) lines.push(`${chalk.bold('hint:')} ${printable(error.hint)}`);
  if (!known)
    lines.push(
      `${chalk.bold('hint:')} this is a defect of certroll; run again with --debug and report what it prints`,
    );
  if (style.debug) {
    if (known) lines.push(`code: ${error.code}, exit status ${error.exit}`);
    lines.push(...[...causes(error), error.stack ?? ''].map(printable));
  }
  return lines.join('\n');
};

/** What went wrong for machines, on one line: the last of `--json`. */
export const errorJson = (thrown: unknown): string => {
  const { code, exit, host, hint } =
    thrown instanceof CertrollError ? thrown : { code: 'defect', exit: EXIT.failed };
  return JSON.stringify({ type: 'error', code, exit, message: messageOf(thrown), host, hint });
};
