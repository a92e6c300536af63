import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseTools, toolsScript } from '../../../src/hosts/tools.js';
import { tempFolder } from '../../support/temp.js';

const folder = tempFolder();

/** Runs the script in a real shell with nothing but these programs: the folders it would add are taken out. */
const runWith = (shell: string, path: string, more: readonly string[] = []) => {
  const script = toolsScript(more).replace('PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin', 'PATH=$PATH');
  const output = execFileSync(shell, ['-s'], { input: script, env: { PATH: path } }).toString();
  return parseTools(output)!;
};

const PROGRAMS = [
  ...[
    'awk',
    'base64',
    'cat',
    'chmod',
    'chown',
    'cut',
    'date',
    'getent',
    'grep',
    'head',
    'id',
    'ln',
    'mktemp',
  ],
  ...[
    'mv',
    'openssl',
    'readlink',
    'rm',
    'sed',
    'sha256sum',
    'stat',
    'sync',
    'tail',
    'timeout',
    'tr',
    'uname',
  ],
];

describe.each(['/bin/dash', '/bin/bash'])('the script that looks for programs, in %s', (shell) => {
  it('finds all that certroll uses on this machine', () => {
    const found = runWith(shell, '/usr/bin:/bin');
    expect(found.filter(({ state }) => state !== 'there')).toEqual([]);
    expect(found.map(({ name }) => name).sort()).toEqual(PROGRAMS);
    expect(found.find(({ name }) => name === 'openssl')?.detail).toMatch(/^OpenSSL \d/);
  });

  it.each(PROGRAMS)('finds out that %s is missing, and says nothing else', (missing) => {
    const bin = join(folder.path, `${shell.replaceAll('/', '-')}-without-${missing}`);
    mkdirSync(bin);
    for (const name of [...PROGRAMS, 'sh'])
      if (name !== missing) symlinkSync(`/usr/bin/${name}`, join(bin, name));
    const wrong = runWith(shell, bin).filter(({ state }) => state !== 'there');
    expect(wrong).toEqual([{ name: missing, state: 'missing', detail: '' }]);
  });

  it.each([
    ['stat', 'echo "stat: invalid option -- L" >&2; exit 1', /^stat: invalid option/],
    ['date', 'echo 1767225600.%N', /%N/],
    ['base64', 'echo "unrecognized option: w" >&2; exit 1', /unrecognized/],
    ['mv', 'echo "Usage: mv [-fi] SOURCE DEST"', /Usage/],
    ['chown', 'echo "Usage: chown OWNER FILE"', /Usage/],
    ['sync', 'echo "sync: ignoring all arguments"', /ignoring/],
    ['timeout', 'exit 125', /^$/],
  ])('finds out that %s is not what it must be', (name, script, detail) => {
    const bin = join(folder.path, `${shell.replaceAll('/', '-')}-other-${name}`);
    mkdirSync(bin);
    for (const each of [...PROGRAMS, 'sh'])
      if (each !== name) symlinkSync(`/usr/bin/${each}`, join(bin, each));
    folder.write(`${bin.slice(folder.path.length + 1)}/${name}`, `#!/bin/sh\n${script}\n`, 0o755);
    const wrong = runWith(shell, bin).filter(({ state }) => state !== 'there');
    expect(wrong).toMatchObject([{ name, state: 'unfit', detail: expect.stringMatching(detail) as string }]);
  });

  it('asks for more where a host needs more', () => {
    const [last] = runWith(shell, '/usr/bin:/bin', ['no-such-program']).slice(-1);
    expect(last).toEqual({ name: 'no-such-program', state: 'missing', detail: '' });
  });
});

it('an answer that is not whole is none', () => {
  expect(parseTools('@certroll tool there cat \n')).toBeUndefined();
  expect(parseTools('motd\n@certroll tool there cat \n@certroll finish\n')).toEqual([
    { name: 'cat', state: 'there', detail: '' },
  ]);
});
