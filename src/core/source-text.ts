import { createReadStream } from 'node:fs';
import { CertrollError, EXIT } from './errors.js';
import { displayWidth } from './text.js';

/** 1-based; columns count characters, a tab is one. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Something wrong at one place of a file. */
export interface Problem {
  readonly position: Position;
  readonly message: string;
}

/** A file as it was read, and the code of the errors that tell of it. */
export interface SourceText {
  readonly file: string;
  readonly text: string;
  readonly code: string;
}

export const START: Position = { line: 1, column: 1 };

/** Far more than any cluster file or cookbook; /dev/zero or a log given by mistake must not fill the memory. */
const MOST_BYTES = 1024 * 1024;
const MOST_PROBLEMS = 30;
const LINE_WIDTH = 120;

/** The place of a character, counted from the start of the text. */
export const positionAt = (text: string, offset: number): Position => {
  const before = text.slice(0, Math.max(0, offset));
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: before.length - lineStart + 1 };
};

/** How far into a text an error about it points, where its message ends in `at character N`; else 0. */
export const offsetIn = (message: string): number =>
  Number(/at character (\d+)$/.exec(message)?.[1] ?? 1) - 1;

const SECRET_KEY =
  /((?:password|passphrase|secret|token|auth-?key|key-data)["']?\s*:\s*)(?![{[|>&*!\s]|.*\$\{\{)\S.*$/i;
const URL_USER = /(:\/\/)[^/\s@'"]*@/g;
const KEY_MATERIAL = /[A-Za-z0-9+/=_-]{48,}/g;
const isKeyMaterial = (word: string): boolean => [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(word));

/** A secret that was written where only a reference to one may stand must not be shown with the error about it. */
const withoutSecrets = (line: string): string =>
  line
    .replace(SECRET_KEY, '$1[hidden]')
    .replaceAll(URL_USER, '$1[hidden]@')
    .replaceAll(KEY_MATERIAL, (word) => (isKeyMaterial(word) ? '[hidden]' : word));

/** The line with a caret below the column; a long line is cut around it. */
const excerpt = (text: string, { line, column }: Position): string => {
  const whole = (text.split('\n')[line - 1] ?? '').replace(/\r$/, '');
  const shown = withoutSecrets(whole);
  // What was hidden before the column moves the caret.
  const before = withoutSecrets(whole.slice(0, column - 1));
  const at = shown.startsWith(before) ? before.length : shown.length - shown.trimStart().length;
  const from = at < LINE_WIDTH - 20 ? 0 : at - Math.floor(LINE_WIDTH / 2);
  const cut = shown
    .slice(from, from + LINE_WIDTH)
    .replaceAll('\t', ' ')
    .replaceAll(/[\p{Cc}\p{Cf}]/gu, '\ufffd');
  const lead = from > 0 ? '…' : '';
  const caret = ' '.repeat(displayWidth(lead + cut.slice(0, at - from)));
  return `    ${lead}${cut}${from + LINE_WIDTH < shown.length ? '…' : ''}\n    ${caret}^`;
};

/** One error for all problems of a file: `FILE:LINE:COLUMN: message`, the line, and a caret below the place. */
export const sourceError = (
  { file, text, code }: SourceText,
  problems: readonly Problem[],
): CertrollError => {
  const texts = [...problems]
    .sort((a, b) => a.position.line - b.position.line || a.position.column - b.position.column)
    .map(
      ({ position, message }) =>
        `${file}:${position.line}:${position.column}: ${message}\n${excerpt(text, position)}`,
    );
  const distinct = [...new Set(texts)];
  const more = distinct.length - MOST_PROBLEMS;
  const shown = more > 0 ? [...distinct.slice(0, MOST_PROBLEMS), `… and ${more} more`] : distinct;
  return new CertrollError(shown.join('\n'), { code, exit: EXIT.usage });
};

const readBytes = async (file: string): Promise<Buffer> => {
  const parts: Buffer[] = [];
  for await (const part of createReadStream(file, { end: MOST_BYTES })) parts.push(part as Buffer);
  return Buffer.concat(parts);
};

const WHY: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'you may not read it',
  ELOOP: 'its symbolic links lead in a circle',
  ENAMETOOLONG: 'the name is too long',
};

/** Why a file cannot be read, in words. */
export const whyUnreadable = (thrown: unknown): string => {
  const code = (thrown as NodeJS.ErrnoException).code ?? '';
  return WHY[code] ?? `it cannot be opened (${code === '' ? 'unknown reason' : code})`;
};

/** Reads a text file, without its byte order mark. Throws one error of `code` (exit 2). */
export const readSource = async (file: string, code: string): Promise<SourceText> => {
  const fail = (why: string, hint: string, cause?: unknown): CertrollError =>
    new CertrollError(`cannot read ${file}: ${why}`, { code, exit: EXIT.usage, hint, cause });
  let bytes: Buffer;
  try {
    bytes = await readBytes(file);
  } catch (cause) {
    throw fail(whyUnreadable(cause), `Tried from ${process.cwd()}.`, cause);
  }
  if (bytes.length > MOST_BYTES)
    throw fail('it is larger than 1 MiB', 'Is it the file that was meant? It is to be YAML or JSON.');
  try {
    return { file, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), code };
  } catch (cause) {
    const lossy = new TextDecoder('utf-8').decode(bytes);
    const { line, column } = positionAt(lossy, lossy.indexOf('\ufffd'));
    throw new CertrollError(`${file}:${line}:${column}: this is not UTF-8 text`, {
      code,
      exit: EXIT.usage,
      hint: 'Save the file as UTF-8.',
      cause,
    });
  }
};
