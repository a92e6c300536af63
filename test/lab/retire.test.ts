import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { certroll } from '../support/certroll.js';
import { clusterFileWith, QUICK } from './cluster-file.js';
import { Lab } from './lab.js';
import { Load } from './load.js';
import { storedKeys, storedRotation } from './registry.js';
import { CONTROL_PLANES } from './settings.js';

describe('after a rotation', () => {
  let lab: Lab;
  let stateDir: string;
  let clusterFile: string;
  const signers = async (): Promise<readonly string[]> => {
    const kids = new Map((await lab.matrix()).map(({ signer, kid }) => [signer, kid]));
    return CONTROL_PLANES.map(({ name }) => kids.get(name) ?? '');
  };
  const run = (args: readonly string[], file = clusterFile) =>
    certroll([...args, '-c', file, '--yes'], { stateDir });

  let old: readonly string[];

  beforeAll(async () => {
    lab = await Lab.up();
    await lab.restoreFault();
    await lab.trustEachOther();
    stateDir = await mkdtemp(join(tmpdir(), 'certroll-retire-'));
    clusterFile = await clusterFileWith('quick', QUICK);
    old = await signers();
    expect((await run(['run', 'rotate-sa-keys', '--force'])).exitCode).toBe(0);
  });

  test('rollback brings the old signers back and no client is refused', async () => {
    const rotated = await signers();
    const load = await Load.start();
    const { exitCode, stdout, stderr } = await run(['rollback', 'last']);
    const { direct, balanced, calico } = await load.stop();
    expect(stderr.split('\n').filter((line) => line.startsWith('certroll:'))).toEqual([]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('Done.');
    expect(await signers()).toEqual(old);
    expect((await lab.matrix()).map(({ status }) => status)).toEqual(Array(9).fill(200));
    expect(direct.unauthorized + balanced.unauthorized + calico.unauthorized).toBe(0);
    // Tokens of the run's keys live on, so those keys stay trusted.
    for (const { name } of CONTROL_PLANES)
      expect(await lab.jwks(name)).toEqual(expect.arrayContaining([...rotated]));
    const states = new Map((await storedKeys(lab)).map(({ kid, state }) => [kid, state]));
    expect(old.map((kid) => states.get(kid))).toEqual(['promoted', 'promoted', 'promoted']);
    expect(rotated.map((kid) => states.get(kid))).toEqual(['soaking', 'soaking', 'soaking']);
    expect((await storedRotation(lab))?.state).toBe('done');
  });

  test('retire-sa-keys waits with 7 while tokens live, and changes nothing', async () => {
    const before = await Promise.all(CONTROL_PLANES.map(({ name }) => lab.jwks(name)));
    const { exitCode, stderr } = await run(['run', 'retire-sa-keys']);
    expect(exitCode).toBe(7);
    expect(stderr).toMatch(/waiting until 20\d\d-.*extended tokens live for a year/);
    expect(await Promise.all(CONTROL_PLANES.map(({ name }) => lab.jwks(name)))).toEqual(before);
    const history = await certroll(['history', '-c', clusterFile], { stateDir });
    expect(history.stdout).toMatch(/retire-sa-keys +waiting until 20\d\d-\S+Z/);
  });

  test('retire-sa-keys goes on once they are over: every apiserver forgets the old keys', async () => {
    // The operator vouches for a short life; the apiservers have seen no token that is older than it should be.
    const short = await clusterFileWith('soak', [...QUICK, [/mode: per-host/, 'mode: per-host, soak: 1s']]);
    const { exitCode, stderr } = await run(['run', 'retire-sa-keys'], short);
    expect(stderr.split('\n').filter((line) => line.startsWith('certroll:'))).toEqual([]);
    expect(exitCode).toBe(0);
    const kids = [...(await signers())].sort();
    for (const { name } of CONTROL_PLANES) expect([...(await lab.jwks(name))].sort()).toEqual(kids);
    expect((await lab.matrix()).map(({ status }) => status)).toEqual(Array(9).fill(200));
    const states = (await storedKeys(lab)).filter(({ kid }) => !kids.includes(kid)).map(({ state }) => state);
    expect(new Set(states)).toEqual(new Set(['retired']));
  });
});
