import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { startCommand } from '../../../src/hosts/systemd-command.js';

const unit = (argv: string, more: { environment?: string; environmentFiles?: string } = {}) =>
  startCommand({
    execStart: `{ path=/usr/bin/x ; argv[]=${argv} ; ignore_errors=no ; start_time=[n/a] ; pid=0 }`,
    environment: '',
    environmentFiles: '',
    ...more,
  });

describe('the command that systemd would start', () => {
  it('is the arguments as they stand where nothing is to be filled in', () => {
    expect(unit('/usr/bin/x --a=1 --b 2')).toEqual(['/usr/bin/x', '--a=1', '--b', '2']);
  });

  it('splits a variable that is a word of its own and keeps one inside a word whole', () => {
    const environmentFiles = 'ARGS="--a=1 \\\n  --b=2"\n# C=--no\nNAME=\'two words\'\n';
    expect(unit('/usr/bin/x $ARGS --name=${NAME} --cost=$$1', { environmentFiles })).toEqual([
      '/usr/bin/x',
      '--a=1',
      '--b=2',
      '--name=two words',
      '--cost=$1',
    ]);
  });

  it('takes files before Environment=, and nothing for a variable that is not set', () => {
    expect(
      unit('/usr/bin/x $A $B --end', { environment: 'A=--first "B=--b c"', environmentFiles: 'A=--second' }),
    ).toEqual(['/usr/bin/x', '--second', '--b', 'c', '--end']);
    expect(unit('/usr/bin/x $NOPE --end')).toEqual(['/usr/bin/x', '--end']);
  });

  it('does not guess where a script takes the flags from elsewhere', () => {
    expect(unit('/usr/local/bin/start-apiserver.sh')).toBeUndefined();
    expect(startCommand({ execStart: '', environment: '', environmentFiles: '' })).toBeUndefined();
  });

  it('gives back every flag that a file in double quotes holds', () => {
    const flag = fc.stringMatching(/^--[a-z]{1,8}=[A-Za-z0-9/.,:_-]{1,12}$/);
    fc.assert(
      fc.property(fc.array(flag, { minLength: 1, maxLength: 8 }), (flags) => {
        const environmentFiles = `DAEMON_ARGS="${flags.join(' \\\n  ')}"\n`;
        expect(unit('/usr/bin/x $DAEMON_ARGS', { environmentFiles })).toEqual(['/usr/bin/x', ...flags]);
      }),
    );
  });
});
