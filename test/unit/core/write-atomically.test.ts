import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { writeAtomically } from '../../../src/core/write-atomically.js';
import { tempFolder, thrownBy } from '../../support/temp.js';

const folder = tempFolder();
const at = (name: string): string => join(folder.path, name);

describe('a file that is written at once', () => {
  it('is readable for all when it is new, and keeps its mode when it is not', async () => {
    await writeAtomically(at('new'), 'a');
    // Who else may read it is for the umask to say.
    expect(statSync(at('new')).mode & 0o733).toBe(0o600);
    chmodSync(at('new'), 0o600);
    await writeAtomically(at('new'), 'b');
    expect([readFileSync(at('new'), 'utf8'), statSync(at('new')).mode & 0o777]).toEqual(['b', 0o600]);
  });

  it('is where its link leads', async () => {
    folder.write('target', 'old');
    symlinkSync('target', at('link'));
    await writeAtomically(at('link'), 'new');
    expect(readFileSync(at('target'), 'utf8')).toBe('new');
    expect(readFileSync(at('link'), 'utf8')).toBe('new');
  });

  it('takes the place of no pipe', async () => {
    execFileSync('mkfifo', [at('pipe')]);
    const reader = promisify(execFile)('cat', [at('pipe')]);
    await writeAtomically(at('pipe'), 'through it');
    const { stdout: said } = await reader;
    expect(said).toBe('through it');
    expect(statSync(at('pipe')).isFIFO()).toBe(true);
  });

  it('leaves nothing behind where it cannot be', async () => {
    expect(String(await thrownBy(async () => writeAtomically(at('none/x'), 'a')))).toContain('cannot write');
    expect(String(await thrownBy(async () => writeAtomically(folder.path, 'a')))).toContain('cannot write');
    expect(readdirSync(folder.path).filter((name) => name.startsWith('.'))).toEqual([]);
  });
});
