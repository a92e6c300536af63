import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { certroll } from '../../support/certroll.js';
import { tempFolder } from '../../support/temp.js';

const folder = tempFolder();

it('history tells until when a run waits, by its journal', async () => {
  folder.write('kubeconfig', '', 0o600);
  const clusterFile = folder.write(
    'cluster.yaml',
    `name: prod
controlPlanes: { hosts: cp1.example.net }
etcd: { endpoints: ['http://etcd1.example.net:2379'] }
api: { kubeconfig: ./kubeconfig }
`,
  );
  mkdirSync(join(folder.path, 'state', 'prod'), { recursive: true });
  const at = '2026-01-01T00:00:00.000Z';
  const journal = [
    { at, type: 'run', cookbook: 'retire-sa-keys', by: 'op@bastion' },
    {
      at,
      type: 'waiting',
      code: 'run.waiting',
      error: 'waiting until 2026-12-22T00:00:00.000Z: tokens live',
    },
    { at, type: 'end', outcome: 'waiting', code: 'run.waiting' },
  ];
  folder.write('state/prod/r1.jsonl', journal.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const args = ['history', '-c', clusterFile, '--state-dir', join(folder.path, 'state')];
  const { exitCode, stdout } = await certroll(args);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/r1 .* retire-sa-keys +waiting until 2026-12-22T00:00:00Z +0 /);
  const [run] = JSON.parse((await certroll([...args, '--json'])).stdout) as unknown[];
  expect(run).toMatchObject({ outcome: 'waiting: run.waiting', waitsUntil: '2026-12-22T00:00:00.000Z' });
});
