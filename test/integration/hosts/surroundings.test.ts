import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { RemoteHost } from '../../../src/hosts/remote-host.js';
import { manifestsThatStart, surroundingsOf } from '../../../src/hosts/surroundings.js';
import { LocalTransport } from '../../support/local-transport.js';

const transport = new LocalTransport();
const host = new RemoteHost('cp1', transport, { sudo: false });
afterAll(() => host.close());

it('a manifest is found by the program that it starts, not by what else has that name', async () => {
  const folder = join(transport.dir, 'manifests');
  mkdirSync(folder);
  const files = {
    'block.yaml': 'spec:\n  containers:\n  - command:\n    - kube-apiserver\n    - --x=1\n',
    'flow.yaml': 'command: ["/usr/bin/kube-apiserver", "--x"]\n',
    'other.yaml': 'name: kube-apiserver\nimage: k8s/kube-apiserver:v1\nargs:\n- --path=/kube-apiserver-x\n',
    'proxy.yaml': '    - kube-apiserver-proxy\n',
    'block.yaml~': '    - kube-apiserver\n',
    'block.yaml.bak': '    - kube-apiserver\n',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const found = await manifestsThatStart(host, folder, 'kube-apiserver');
  expect(found.toSorted()).toEqual([join(folder, 'block.yaml'), join(folder, 'flow.yaml')]);
  expect(await manifestsThatStart(host, join(folder, 'none'), 'kube-apiserver')).toEqual([]);
});

it('control groups come by pid, and a process that is gone has none', async () => {
  const { cgroups } = await surroundingsOf(host, [process.pid, 2 ** 22 + 1]);
  expect(cgroups.get(process.pid)).toMatch(/^\d+:[^:]*:\//m);
  expect(cgroups.get(2 ** 22 + 1)).toBe('');
});
