import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** A folder for the tests of one file, removed after them; returns a function that writes a file into it. */
export const tempFolder = (): {
  readonly path: string;
  readonly write: (name: string, text: string | Uint8Array, mode?: number) => string;
} => {
  const path = mkdtempSync(join(tmpdir(), 'certroll-test-'));
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  return {
    path,
    write: (name, text, mode = 0o644) => {
      const file = join(path, name);
      writeFileSync(file, text, { mode });
      return file;
    },
  };
};

/** What a function that must fail throws. */
export const thrownBy = async (action: () => unknown): Promise<Error> => {
  try {
    await action();
  } catch (thrown) {
    if (thrown instanceof Error) return thrown;
    throw thrown;
  }
  throw new Error('it was to fail, and did not');
};
