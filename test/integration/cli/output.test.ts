import { describe, expect, it } from 'vitest';
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
    expect(resultOf(finished)).toMatchObject({ type: 'error', code, exit: 2 });
    expect(finished.stderr).not.toBe('');
    expect(finished.exitCode).toBe(2);
  });
});
