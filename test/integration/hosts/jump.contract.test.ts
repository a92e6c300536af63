import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ClusterFile } from '../../../src/cluster/schema.js';
import { EXIT } from '../../../src/core/errors.js';
import { createTransport } from '../../../src/hosts/connect.js';
import type { Transport } from '../../../src/hosts/transport.js';
import { appears, failure } from '../../support/failure.js';
import { TestSshd } from '../../support/sshd.js';

const TIMEOUT = { timeoutMs: 20_000 };

describe.each(['ssh2', 'openssh'] as const)('the %s transport through a jump host', (kind) => {
  let sshd: TestSshd;
  let jump: TestSshd;
  const opened: Transport[] = [];

  beforeAll(async () => {
    [sshd, jump] = await Promise.all([TestSshd.start(), TestSshd.start()]);
    await sshd.file('both', (await sshd.knownHostsLine()) + (await jump.knownHostsLine()));
    // The jump host lets the same key in.
    await writeFile(join(jump.dir, 'authorized_keys'), await readFile(join(sshd.dir, 'user.pub')));
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((transport) => transport.close()));
  });
  afterAll(() => Promise.all([sshd.stop(), jump.stop()]));

  const open = async (name: string, ssh: Partial<ClusterFile['ssh']>): Promise<Transport> => {
    const transport = await createTransport(
      name,
      sshd.settings({ knownHosts: ['both'], ...ssh, transport: kind }),
    );
    opened.push(transport);
    return transport;
  };
  const viaJump = (ssh: Partial<ClusterFile['ssh']> = {}): Promise<Transport> =>
    open('127.0.0.1', { proxyJump: `127.0.0.1:${jump.port}`, ...ssh });

  it('reaches the host behind it', async () => {
    const transport = await viaJump();
    const { stdout } = await transport.exec(['sh', '-c', 'echo "$SSH_CONNECTION"'], TIMEOUT);
    expect(stdout.toString()).toContain(` ${sshd.port}`);
  });

  it('reaches it by ssh_config alone', async () => {
    await sshd.file(
      'jump_config',
      `Host hop\n  HostName 127.0.0.1\n  Port ${jump.port}\nHost behind\n  HostName 127.0.0.1\n  ProxyJump hop\n`,
    );
    const transport = await open('behind', { config: 'jump_config' });
    expect((await transport.exec(['true'], TIMEOUT)).exitCode).toBe(0);
  });

  it('checks the jump host’s key as strictly, even if ssh_config would take any', async () => {
    await sshd.file('lax', 'StrictHostKeyChecking no\n');
    const transport = await viaJump({ knownHosts: ['known_hosts'], config: 'lax' });
    expect(await failure(transport.exec(['true'], TIMEOUT))).toMatchObject({ code: 'ssh.host-key' });
  });

  it('does not know the outcome when the jump host dies under a command', async () => {
    const transport = await viaJump();
    const started = join(sshd.dir, randomUUID());
    const lost = failure(transport.exec(['sh', '-c', `touch ${started}; sleep 60`], TIMEOUT));
    await appears(started);
    await jump.dropConnections();
    expect(await lost).toMatchObject({ code: 'ssh.outcome-unknown', exit: EXIT.unknown });
  });
});
