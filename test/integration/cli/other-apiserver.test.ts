import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Playground } from '../../playground/playground.js';
import { certroll, resultOf } from '../../support/certroll.js';

let playground: Playground;
let text: string;

beforeAll(async () => {
  const dir = await mkdtemp(join(tmpdir(), 'cr-'));
  playground = await Playground.up({ dir, maxLife: 900 });
  text = await readFile(playground.clusterFile, 'utf8');
}, 300_000);
afterAll(async () => {
  await playground.down();
});

const files = async (): Promise<readonly string[]> =>
  Promise.all(
    playground.hosts.map(({ name }) =>
      readFile(join(playground.dir, name, 'sa-verification-keys.pem'), 'utf8'),
    ),
  );

it.each([
  ['those of the first two hosts are mixed up', (ports: readonly string[]) => [ports[1], ports[0], ports[2]]],
  ['one is given to two hosts', (ports: readonly string[]) => [ports[0], ports[0], ports[2]]],
])('a run is refused before anything is touched when of the ports of apiservers %s', async (_name, mix) => {
  const pattern = /(kubemaster\d+\S*: )(\d+)$/gm;
  const ports = [...text.matchAll(pattern)].map(([, , port]) => port ?? '');
  const mixed = mix(ports);
  let at = 0;
  const clusterFile = join(playground.dir, 'mixed.yaml');
  await writeFile(
    clusterFile,
    text.replace(pattern, (_all, head: string) => `${head}${mixed[at++] ?? ''}`),
  );
  const before = await files();

  const finished = await certroll(['run', 'rotate-sa-keys', '-c', clusterFile, '--yes', '--force', '--json']);

  expect(finished.exitCode, finished.stderr).toBe(4);
  const error = resultOf(finished);
  expect(error).toMatchObject({ type: 'error', code: 'preflight.other-apiserver' });
  expect(String(error['hint'])).toContain('api.ports');
  expect(await files()).toEqual(before);
});
