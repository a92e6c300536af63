import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readSecretRef, type SecretRef } from '../../../src/core/secret-ref.js';
import { failure } from '../../support/failure.js';
import { tempFolder } from '../../support/temp.js';

const folder = tempFolder();
const bytesOf = async (ref: SecretRef): Promise<string> =>
  (await readSecretRef(ref, folder.path)).reveal((bytes) => bytes.toString('latin1'));

describe('a secret by reference', () => {
  it('comes from a file, byte for byte, less one line end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc
          .uint8Array({ minLength: 1, maxLength: 40 })
          .filter((bytes) => ![10, 13].includes(bytes.at(-1) ?? 0)),
        fc.constantFrom('', '\n', '\r\n'),
        async (bytes, end) => {
          folder.write('secret', Buffer.concat([bytes, Buffer.from(end)]));
          expect(await bytesOf({ file: 'secret' })).toBe(Buffer.from(bytes).toString('latin1'));
        },
      ),
    );
  });

  it('keeps all but the last line end', async () => {
    folder.write('lines', 'one\ntwo\n\n');
    expect(await bytesOf({ file: 'lines' })).toBe('one\ntwo\n');
    folder.write('cr', 'one\r');
    expect(await bytesOf({ file: 'cr' })).toBe('one\r');
  });

  it('comes from an environment variable, and from what a command prints', async () => {
    process.env['CERTROLL_TEST_SECRET'] = 'from env\n';
    expect(await bytesOf({ env: 'CERTROLL_TEST_SECRET' })).toBe('from env');
    expect(await bytesOf({ command: ['printf', '%s\n', 'from command'] })).toBe('from command');
    folder.write('here', 'beside the cluster file');
    expect(await bytesOf({ command: ['cat', 'here'] })).toBe('beside the cluster file');
  });

  it.each([
    ['a file that is not there', { file: 'missing' }, 'file missing', 'ENOENT'],
    ['an empty file', { file: 'empty' }, 'file empty', 'it is empty'],
    ['a variable that is not set', { env: 'CERTROLL_TEST_UNSET' }, 'CERTROLL_TEST_UNSET', 'it is not set'],
    [
      'a command that fails',
      { command: ['sh', '-c', 'echo hunter2; exit 3'] },
      'command sh',
      'exited with 3',
    ],
    ['a command that is killed', { command: ['sh', '-c', 'kill $$ # hunter2'] }, 'command sh', 'SIGTERM'],
    ['a command that is not there', { command: ['./nothing', 'hunter2'] }, 'command ./nothing', 'ENOENT'],
    ['a command that prints nothing', { command: ['true', 'hunter2'] }, 'command true', 'it is empty'],
  ])('that cannot be had names where it was to be, never what it is: %s', async (_what, ref, where, why) => {
    folder.write('empty', '\n');
    const error = await failure(readSecretRef(ref, folder.path));
    expect(error).toMatchObject({ code: 'secret.unreadable', exit: 2 });
    expect(error.message).toContain(where);
    expect(error.message).toContain(why);
    expect(`${inspect(error)} ${JSON.stringify(error)}`).not.toContain('hunter2');
  });
});
