import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Playground } from '../../playground/playground.js';
import { certroll, start, type JsonEvent } from '../../support/certroll.js';

describe('Ctrl-C while an apiserver restarts', () => {
  let playground: Playground;

  beforeAll(async () => {
    playground = await Playground.up({ dir: await mkdtemp(join(tmpdir(), 'cr-')), maxLife: 900 });
  }, 300_000);
  afterAll(async () => playground.down());

  it('stops after the restart is verified, gives the lock back, and running again finishes', async () => {
    const args = ['run', 'rotate-sa-keys', '-c', playground.clusterFile, '--yes', '--json'];
    const events: JsonEvent[] = [];
    const running = await start(args, {
      onEvent: (event, child) => {
        events.push(event);
        if (event['text'] === 'restart sent') child.kill('SIGINT');
      },
    });
    const first = await running.finished;
    expect(first.exitCode).toBe(1);
    expect(first.stderr).toContain('stopped by SIGINT');
    expect(first.stderr).toContain('run again');
    const last = events.filter((event) => event.type === 'entry').at(-1);
    expect(last).toMatchObject({ state: 'done' });
    expect(last?.['text']).toContain('restart kube-apiserver');
    expect(events.at(-2)).toMatchObject({ type: 'lock', state: 'released' });
    expect(events.at(-1)).toMatchObject({ type: 'error', code: 'run.interrupted', exit: 1 });

    const locks = await certroll(['lock', 'show', '-c', playground.clusterFile]);
    expect(locks.stdout).toContain('is free');

    const second = await certroll(args);
    expect(second.exitCode).toBe(0);
    // No second key was made for anyone.
    expect(second.stdout).not.toContain('generate a signing key');
  }, 300_000);
});
