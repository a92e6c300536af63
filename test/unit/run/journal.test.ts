import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkJournal, openJournal } from '../../../src/run/journal.js';
import { tempFolder, thrownBy } from '../../support/temp.js';

const folder = tempFolder();

describe('the journal', () => {
  it.each([
    ['below /proc, where no folder can be made', '/proc/x/y'],
    ['below a file', join(folder.write('file', ''), 'state')],
  ])('is refused before the run %s', async (_where, stateDir) => {
    for (const attempt of [
      async () => checkJournal(stateDir, 'prod', 'r1'),
      async () => openJournal(stateDir, 'prod', 'r1', () => new Date()),
    ])
      expect(await thrownBy(attempt)).toMatchObject({ code: 'journal.unwritable', exit: 1 });
  });

  it('has its folders made, for its owner only, and nothing else is left by the check', async () => {
    const stateDir = join(folder.path, 'a', 'b');
    await checkJournal(stateDir, 'prod', 'r1');
    expect(readdirSync(join(stateDir, 'prod'))).toEqual([]);
    expect(statSync(join(stateDir, 'prod')).mode & 0o777).toBe(0o700);
    const journal = await openJournal(stateDir, 'prod', 'r1', () => new Date(0));
    await journal.write({ type: 'end' });
    await journal.close();
    expect(readFileSync(journal.path, 'utf8')).toBe('{"at":"1970-01-01T00:00:00.000Z","type":"end"}\n');
  });

  it.skipIf(process.getuid?.() === 0)('is refused in a folder that others own', async () => {
    const stateDir = join(folder.path, 'locked');
    await checkJournal(stateDir, 'prod', 'r1');
    chmodSync(join(stateDir, 'prod'), 0o500);
    expect(await thrownBy(async () => checkJournal(stateDir, 'prod', 'r2'))).toMatchObject({
      code: 'journal.unwritable',
    });
  });
});
