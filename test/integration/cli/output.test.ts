import { execa } from 'execa';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../support/build.js';
import { certroll, resultOf } from '../../support/certroll.js';

describe('with --json the last line on standard output tells of an error', () => {
  it.each([
    [
      'the cluster file cannot be read',
      ['run', 'check-expiry', '-c', '/no/such.yaml'],
      'cluster-file.invalid',
    ],
    ['there is no such cookbook', ['plan', 'no-such', '-c', '/no/such.yaml'], 'cookbook.unknown'],
    ['nobody can be asked', ['run', 'rotate-sa-keys', '-c', '/no/such.yaml'], 'usage'],
    ['the status cannot be had', ['status', '-c', '/no/such.yaml'], 'cluster-file.invalid'],
    ['an option is missing', ['run', 'check-expiry'], 'usage'],
  ])('when %s', async (_when, words, code) => {
    const finished = await certroll([...words, '--json']);
    expect(resultOf(finished)).toMatchObject({
      type: 'error',
      code,
      exit: 2,
      message: expect.not.stringMatching(/^error:/) as string,
    });
    expect(finished.stderr).not.toBe('');
    expect(finished.exitCode).toBe(2);
  });
});

describe('output that cannot be written', () => {
  const into = async (target: string, words: string) =>
    execa('sh', ['-c', `"$0" "$1" ${words} ${target}`, process.execPath, join(ROOT, 'bin/certroll.js')], {
      reject: false,
    });

  it.each(['cookbook list', '--help', '--version'])('is told in one line: %s', async (words) => {
    const { exitCode, stderr } = await into('>/dev/full', words);
    expect(stderr).toBe('certroll: cannot write to standard output: no space left on the device');
    expect(exitCode).toBe(1);
  });

  it('leaves a worse exit status as it is', async () => {
    const { exitCode, stderr } = await into('>/dev/full', 'plan no-such -c /no/such.yaml --json');
    expect(stderr).toContain('no space left');
    expect(exitCode).toBe(2);
  });

  it('is lost where there is no other place to tell it', async () => {
    expect((await into('2>/dev/full', 'plan no-such -c /no/such.yaml')).exitCode).toBe(2);
  });
});
