import { execa } from 'execa';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../lab/wait.js';
import type { PlaygroundHost } from '../../playground/host.js';
import { Playground } from '../../playground/playground.js';
import { realApiserver } from '../../playground/settings.js';
import { freePort } from '../../support/ports.js';
import { scratch } from './scratch.js';

const dir = scratch('pg-stand-in');
let host: PlaygroundHost;

beforeAll(async () => {
  [host] = (await Playground.up({ dir, maxLife: 900 })).hosts;
});
afterAll(async () => Playground.attach(dir).down());

/** The arguments of a host's running apiserver. */
const argvOf = async (host: PlaygroundHost): Promise<readonly string[]> => {
  const pid = await host.apiserverPid();
  return (await readFile(`/proc/${pid ?? 0}/cmdline`, 'utf8')).split('\0').slice(0, -1);
};

describe.skipIf(realApiserver() !== undefined)('the process of the stand-in', () => {
  it('says that it is a stand-in: in its arguments, version, header and log', async () => {
    const answer = await host.ask('/version');
    expect(JSON.parse(answer.body)).toMatchObject({ gitVersion: 'v1.34.0-certroll-playground' });
    expect(answer.headers['server']).toBe('certroll-playground (a stand-in, not kube-apiserver)');
    expect(await argvOf(host)).toContain('stand-in-for-kube-apiserver');
    expect(await readFile(host.path('apiserver.log'), 'utf8')).toContain('it is NOT kube-apiserver');
  });

  it('after SIGTERM it is not ready, and goes on answering for --shutdown-delay-duration', async () => {
    const port = await freePort();
    const [program = '', ...args] = (await argvOf(host)).map((word) => {
      if (word.startsWith('--secure-port=')) return `--secure-port=${port}`;
      return word.startsWith('--shutdown-delay-duration=') ? '--shutdown-delay-duration=1h' : word;
    });
    const child = execa(program, args, { reject: false, cleanup: true });
    try {
      const ready = async (): Promise<number> =>
        (await host.ask('/readyz', { port, as: 'anonymous' })).status;
      await until('it is ready', 60, async () => (await ready()) === 200);
      child.kill('SIGTERM');
      await until('it is not ready', 60, async () => (await ready()) === 503);
      expect((await host.ask('/readyz', { port })).body).toContain('[-]shutdown failed');
      expect((await host.ask('/livez', { port })).status).toBe(200);
      child.kill('SIGTERM');
      expect((await child).exitCode).toBe(1);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('refuses flags that it does not know, as kube-apiserver does', async () => {
    const [program = '', ...args] = await argvOf(host);
    const { exitCode, stderr } = await execa(program, [...args, '--feature-gates=All=true'], {
      reject: false,
    });
    expect(exitCode).toBe(1);
    expect(stderr).toContain('unknown flag: --feature-gates');
  });
});
