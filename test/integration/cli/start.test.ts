import { execa } from 'execa';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stepCatalog } from '../../../src/steps/catalog.js';
import { ROOT } from '../../support/build.js';

const certroll = join(ROOT, 'bin/certroll.js');
const ROUNDS = 15;

/** Milliseconds of one start of node with these words. */
const timed = async (...words: readonly string[]): Promise<number> => {
  const begin = performance.now();
  await execa(process.execPath, words);
  return performance.now() - begin;
};

const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN;

describe('certroll', () => {
  it.each(['--version', '--help'])('%s starts in at most 1.6 times what node itself takes', async (word) => {
    const bare: number[] = [];
    const own: number[] = [];
    // Side by side, so that a machine that is busy for a while is so for both.
    for (let round = 0; round < ROUNDS; round += 1) {
      bare.push(await timed('-e', '0'));
      own.push(await timed(certroll, word));
    }
    const ratio = median(own) / median(bare);
    process.stdout.write(`certroll ${word}: ${ratio.toFixed(2)} times node -e 0 (medians of ${ROUNDS})\n`);
    expect(ratio).toBeLessThanOrEqual(1.6);
  });

  it('tells its version and how it is used', async () => {
    expect((await execa(process.execPath, [certroll, '--version'])).stdout).toMatch(/^\d+\.\d+\.\d+$/);
    const { stdout } = await execa(process.execPath, [certroll, '--help']);
    for (const word of ['run', 'plan', 'status', 'cookbook', 'lock', 'Exit status', 'Examples'])
      expect(stdout).toContain(word);
  });

  it('survives a reader that goes away', async () => {
    const { exitCode, stderr } = await execa('sh', [
      '-c',
      `"$0" "$1" cookbook list | true`,
      process.execPath,
      certroll,
    ]);
    expect(stderr).toBe('');
    expect(exitCode).toBe(0);
  });

  it('lists every step that a cookbook may use, with its settings', async () => {
    const { stdout } = await execa(process.execPath, [certroll, 'cookbook', 'steps']);
    expect(stdout).toMatch(
      /^apiserver\/restart +Restart kube-apiservers .*; gives restarted\n +only +stale\|all \(stale\) +stale: only/m,
    );
    const { stdout: json } = await execa(process.execPath, [certroll, 'cookbook', 'steps', '--json']);
    const steps = JSON.parse(json) as { step: string; with: { key: string }[] }[];
    expect(steps.map(({ step }) => step)).toEqual([...stepCatalog.keys()]);
    expect(steps.find(({ step }) => step === 'sa-keys/retire')?.with).toEqual([
      expect.objectContaining({ key: 'wait', type: 'boolean', default: false }),
    ]);
  });

  it('answers --help from a file that says what commander says', async () => {
    const [quick, whole] = await Promise.all(
      ['--help', 'help'].map(async (word) => execa(process.execPath, [certroll, word])),
    );
    expect(quick?.stdout).toBe(whole?.stdout);
  });

  it('says where journals are kept, and no default that is none', async () => {
    const { stdout } = await execa(process.execPath, [certroll, 'run', '--help']);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('certroll in XDG_STATE_HOME, which is ~/.local/state');
    expect(stdout).not.toContain('[]');
  });

  it.each([
    ['an unknown command', ['rum'], /Did you mean run\?/],
    [
      'a cookbook in the place of a command',
      ['retire-sa-keys', '-c', 'x'],
      /unknown command 'retire-sa-keys'; did you mean "certroll run retire-sa-keys"\?/,
    ],
    ['an unknown option', ['run', 'rotate-sa-keys', '-c', 'x', '--dry-rum'], /Did you mean --dry-run\?/],
    [
      'no cluster file',
      ['run', 'rotate-sa-keys'],
      /required option '-c, --cluster <file>' not specified; give it, or set CERTROLL_CLUSTER/,
    ],
    [
      'a folder of cookbooks that is not there',
      ['cookbook', 'list', '--cookbook-dir', '/no/such/folder'],
      /There is no folder '\/no\/such\/folder'/,
    ],
    ['no cookbook', ['run', '-c', 'x'], /missing required argument 'cookbook'/],
    ['an input without a value', ['run', 'rotate-sa-keys', '-c', 'x', '-i', 'force'], /--input force/],
    [
      'an unknown input',
      ['run', 'rotate-sa-keys', '-c', 'x', '--yes', '-i', 'forze=true'],
      /did you mean 'force'/,
    ],
    [
      'a run without a terminal and without --yes',
      ['run', 'rotate-sa-keys', '-c', 'x'],
      /there is no terminal to ask on/,
    ],
  ])('says what is wrong with %s and exits 2', async (_what, words, message) => {
    const { exitCode, stderr } = await execa(process.execPath, [certroll, ...words], {
      reject: false,
      stdin: 'ignore',
    });
    expect(stderr).toMatch(message);
    expect(exitCode).toBe(2);
  });
});
