import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** A path for a playground that nothing is at yet, removed after the tests of the file. */
export const scratch = (name: string): string => {
  const folder = mkdtempSync(join(tmpdir(), `certroll-${name}-`));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'dir');
};
