import { execa } from 'execa';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { certroll } from '../support/certroll.js';
import { TestPki } from '../support/pki.js';
import { clusterFileWith } from './cluster-file.js';
import { Lab } from './lab.js';
import { CONTROL_PLANES } from './settings.js';
import { storedRotation } from './registry.js';

describe('certroll run refuses before any change, with one clear message', () => {
  let lab: Lab;

  beforeAll(async () => {
    lab = await Lab.up();
    await lab.restoreFault();
  });

  const keyFiles = () =>
    Promise.all(
      CONTROL_PLANES.map(
        async (host) =>
          (await lab.exec(host.name, ['sh', '-c', 'ls -l --time-style=full-iso /etc/kubernetes/pki'])).stdout,
      ),
    );

  const refused = async (
    clusterFile: string,
    exit: number,
    message: RegExp,
    hint: RegExp,
    cookbook = 'rotate-sa-keys',
  ) => {
    const before = await keyFiles();
    const { exitCode, stderr } = await certroll(['run', cookbook, '-c', clusterFile, '--yes']);
    const errors = stderr.split('\n').filter((line) => line.startsWith('certroll:'));
    expect(errors).toHaveLength(1);
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(hint);
    expect(exitCode).toBe(exit);
    expect(await keyFiles()).toEqual(before);
    expect(await storedRotation(lab)).toBeUndefined();
  };

  test('a host that does not exist', async () => {
    const file = await clusterFileWith('missing-host', [
      [/kubemaster\[1001-1003\]/, 'kubemaster[1001-1004]'],
    ]);
    await refused(file, 1, /kubemaster1004\.lab\.example\.net/, /hint:/);
  });

  test('a host that is cut off', async () => {
    await lab.cut('kubemaster1002');
    try {
      const file = await clusterFileWith('cut', [[/sudo: true/, 'sudo: true, connectTimeout: 3s']]);
      await refused(file, 1, /kubemaster1002\.lab\.example\.net/, /hint:/);
    } finally {
      await lab.heal('kubemaster1002');
      await lab.waitForHealth();
    }
  });

  test('a wrong host key', async () => {
    // As if the second host had been reimaged: it is known by another key.
    const strange = join(lab.bastion.folder, 'strange-host-key');
    await rm(strange, { force: true });
    await execa('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', strange]);
    const [type, key] = (await readFile(`${strange}.pub`, 'utf8')).split(' ');
    const known = (await readFile(lab.bastion.knownHosts, 'utf8')).split('\n');
    const lines = known.filter((line) => !line.includes('kubemaster1002'));
    const names = known.find((line) => line.includes('kubemaster1002'))?.split(' ')[0];
    await writeFile(
      join(lab.bastion.folder, 'known_hosts-wrong'),
      [...lines, `${names} ${type} ${key}`, ''].join('\n'),
    );
    const file = await clusterFileWith('wrong-key', [
      [/sudo: true/, 'sudo: true, knownHosts: [./known_hosts-wrong]'],
    ]);
    await refused(file, 4, /kubemaster1002\.lab\.example\.net.*host key/s, /hint:/);
  });

  test('sudo that asks for a password', async () => {
    const file = await clusterFileWith('limited', [[/user: certroll/, 'user: limited']]);
    await refused(file, 1, /sudo.*password/s, /NOPASSWD/);
  });

  test('an expired CA', async () => {
    const pki = await TestPki.create();
    const [from, to] = [new Date('2020-01-01T00:00:00Z'), new Date('2021-01-01T00:00:00Z')];
    const ca = await pki.certificate('old', { ca: true, from, to });
    const file = await clusterFileWith('expired-ca', [
      [/issuer: .*/, `issuer: { type: local-ca, cert: ${ca.certFile}, key: ${ca.keyFile} }`],
    ]);
    await refused(file, 4, /expired/, /hint:/);
  });

  test('a cookbook with a typo', async () => {
    const cookbook = join(lab.bastion.folder, 'typo.yaml');
    await writeFile(cookbook, 'name: typo\ndescription: d\nsteps:\n  - uses: sa-keys/isue\n');
    await refused(
      lab.bastion.clusterFile,
      2,
      /typo\.yaml:4:11: unknown step 'sa-keys\/isue'; did you mean 'sa-keys\/issue'\?/,
      /\^/,
      cookbook,
    );
  });

  test('an etcd that cannot be reached', async () => {
    const file = await clusterFileWith('no-etcd', [
      [/endpoints: \[.*\]/, 'endpoints: [https://127.0.0.1:1]'],
    ]);
    await refused(file, 1, /etcd.*https:\/\/127\.0\.0\.1:1.*ECONNREFUSED/, /hint:/);
  });

  test('a cookbook that promotes before it publishes, by the proof', async () => {
    const cookbook = join(lab.bastion.folder, 'rash.yaml');
    await writeFile(
      cookbook,
      'name: rash\ndescription: d\nsteps:\n  - uses: sa-keys/issue\n  - uses: sa-keys/promote\n',
    );
    await refused(
      lab.bastion.clusterFile,
      4,
      /refused: at step 'sa-keys\/promote': tokens would be refused, in \d+ pairs\n +change \d+: record in etcd: next keys of .* as promoted\n.*\n +a token signed with 'next key of .*', presented by .*kube-apiserver@.*, would be refused by kube-apiserver@kubemaster/,
      /hint: Nothing was touched\. Write the public key next key of .* into the verification files of kube-apiserver@.* first/,
      cookbook,
    );
  });
});
