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

/** A forced rotation by another cluster file, which must be refused before anything is touched. */
const refusal = async (other: string): Promise<Record<string, unknown>> => {
  const clusterFile = join(playground.dir, 'other.yaml');
  await writeFile(clusterFile, other);
  const before = await files();
  const args = ['run', 'rotate-sa-keys', '-c', clusterFile, '--yes', '--force', '--json'];
  const finished = await certroll(args);
  expect(finished.exitCode, finished.stderr).toBe(4);
  expect(await files()).toEqual(before);
  return resultOf(finished);
};

it.each([
  ['of the first two hosts are mixed up', (ports: readonly string[]) => [ports[1], ports[0], ports[2]]],
  ['of one host are given to two', (ports: readonly string[]) => [ports[0], ports[0], ports[2]]],
])('a run is refused when the ports of apiservers %s', async (_name, mix) => {
  const pattern = /(kubemaster\d+\S*: )(\d+)$/gm;
  const mixed = mix([...text.matchAll(pattern)].map(([, , port]) => port ?? ''));
  let at = 0;
  const error = await refusal(text.replace(pattern, (_all, head: string) => `${head}${mixed[at++] ?? ''}`));
  expect(error).toMatchObject({ type: 'error', code: 'preflight.other-apiserver' });
  expect(String(error['hint'])).toContain('api.ports');
});

it('a run is refused when the restart command does not exist on a host', async () => {
  const error = await refusal(text.replace("/{host}/ctl', restart", "/{host}/gone', restart"));
  expect(error).toMatchObject({ type: 'error', code: 'preflight.cannot-start' });
  expect(String(error['message'])).toMatch(/its restart command '\S*\/gone' does not exist/);
});
