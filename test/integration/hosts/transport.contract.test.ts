import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ClusterFile } from '../../../src/cluster/schema.js';
import { EXIT } from '../../../src/core/errors.js';
import { Secret } from '../../../src/core/secret.js';
import { createTransport } from '../../../src/hosts/connect.js';
import type { SshSettings } from '../../../src/hosts/ssh-config.js';
import type { Transport } from '../../../src/hosts/transport.js';
import { appears, failure } from '../../support/failure.js';
import { freePort } from '../../support/ports.js';
import { sshKeygen, TestSshd } from '../../support/sshd.js';

const TIMEOUT = { timeoutMs: 20_000 };

describe.each(['ssh2', 'openssh'] as const)('the %s transport', (kind) => {
  let sshd: TestSshd;
  const opened: Transport[] = [];

  const open = async (settings: SshSettings, name = '127.0.0.1'): Promise<Transport> => {
    const transport = await createTransport(name, { ...settings, ssh: { ...settings.ssh, transport: kind } });
    opened.push(transport);
    return transport;
  };
  const reach = (ssh: Partial<ClusterFile['ssh']> = {}): Promise<Transport> => open(sshd.settings(ssh));

  beforeAll(async () => {
    sshd = await TestSshd.start();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((transport) => transport.close()));
  });
  afterAll(() => sshd.stop());

  it('hands every argument over byte for byte', async () => {
    const transport = await reach();
    const word = fc.string({ unit: 'binary', maxLength: 20 }).filter((text) => !text.includes('\0'));
    await fc.assert(
      fc.asyncProperty(fc.array(word, { minLength: 1, maxLength: 60 }), async (words) => {
        const { stdout } = await transport.exec(['printf', '%s\\0', ...words], TIMEOUT);
        expect(stdout.toString()).toBe(words.map((text) => `${text}\0`).join(''));
      }),
      { numRuns: 8 },
    );
  });

  it('tells the exit status, 255 and the status of a signal included', async () => {
    const transport = await reach();
    const status = async (script: string): Promise<number> =>
      (await transport.exec(['sh', '-c', script], TIMEOUT)).exitCode;
    for (const code of [0, 1, 2, 77, 126, 127, 255]) expect(await status(`exit ${code}`)).toBe(code);
    expect(await status('kill -TERM $$')).toBe(143);
    expect((await transport.exec(['/no/such/command'], TIMEOUT)).exitCode).toBe(127);
  });

  it('keeps output and errors apart', async () => {
    const transport = await reach();
    const result = await transport.exec(
      ['sh', '-c', 'echo out; echo err >&2; printf end; printf tail >&2'],
      TIMEOUT,
    );
    expect(result).toEqual({ exitCode: 0, stdout: Buffer.from('out\nend'), stderr: 'err\ntail' });
  });

  it('carries megabytes of any bytes both ways', async () => {
    const transport = await reach();
    const bytes = randomBytes(12_000_000);
    const { stdout } = await transport.exec(['cat'], { stdin: bytes, ...TIMEOUT });
    expect(createHash('sha256').update(stdout).digest('hex')).toBe(
      createHash('sha256').update(bytes).digest('hex'),
    );
  });

  it('does not mind a command that leaves its input unread', async () => {
    const transport = await reach();
    const result = await transport.exec(['echo', 'done'], { stdin: randomBytes(4_000_000), ...TIMEOUT });
    expect(result.stdout.toString()).toBe('done\n');
  });

  it('gives up on a command that takes too long, and stays usable', async () => {
    const transport = await reach();
    await transport.connect();
    const begin = Date.now();
    expect(await failure(transport.exec(['sleep', '60'], { timeoutMs: 300 }))).toMatchObject({
      code: 'ssh.timeout',
      exit: EXIT.unknown,
    });
    expect(Date.now() - begin).toBeLessThan(5000);
    expect((await transport.exec(['echo', 'still here'], TIMEOUT)).exitCode).toBe(0);
  });

  it('is called off by a signal: for certain before the command is sent, in doubt after', async () => {
    const transport = await reach();
    const reason = new Error('lock lost');
    const before = transport.exec(['sleep', '60'], { ...TIMEOUT, signal: AbortSignal.abort(reason) });
    expect(await failure(before)).toMatchObject({ code: 'ssh.aborted', exit: EXIT.failed, cause: reason });
    const controller = new AbortController();
    const started = join(sshd.dir, randomUUID());
    const after = failure(
      transport.exec(['sh', '-c', `touch ${started}; sleep 60`], { ...TIMEOUT, signal: controller.signal }),
    );
    await appears(started);
    controller.abort(reason);
    expect(await after).toMatchObject({ code: 'ssh.aborted', exit: EXIT.unknown, cause: reason });
  });

  it('refuses a host whose key is not the known one', async () => {
    await sshd.file('changed', await sshd.knownHostsLine('stranger'));
    const transport = await reach({ knownHosts: ['changed'] });
    expect(await failure(transport.exec(['true'], TIMEOUT))).toMatchObject({
      code: 'ssh.host-key',
      exit: EXIT.refused,
    });
  });

  it('refuses a host that is not known, even if ssh_config would take any', async () => {
    await sshd.file('empty', '');
    await sshd.file('lax', 'StrictHostKeyChecking no\n');
    const transport = await reach({ knownHosts: ['empty'], config: 'lax' });
    expect(await failure(transport.exec(['true'], TIMEOUT))).toMatchObject({ code: 'ssh.host-key' });
  });

  it('refuses a revoked key, also when it is listed as good', async () => {
    const line = await sshd.knownHostsLine();
    await sshd.file('revoked', `${line}@revoked ${line}`);
    const transport = await reach({ knownHosts: ['revoked'] });
    expect(await failure(transport.exec(['true'], TIMEOUT))).toMatchObject({ code: 'ssh.host-key' });
  });

  it('takes the one host key that is known, whatever the server would rather present', async () => {
    await sshd.file('only_ecdsa', await sshd.knownHostsLine('host_ecdsa'));
    const transport = await reach({ knownHosts: ['empty', 'only_ecdsa'] });
    expect((await transport.exec(['true'], TIMEOUT)).exitCode).toBe(0);
  });

  it('knows a host by a hashed entry, by its bare name and by its alias', async () => {
    const [, key = ''] = /^\S+ (.*)/.exec(await sshd.knownHostsLine()) ?? [];
    const hashed = await sshd.file('hashed', await sshd.knownHostsLine());
    await sshKeygen('-H', '-f', hashed);
    expect(await readFile(hashed, 'utf8')).toMatch(/^\|1\|/);
    await sshd.file('bare', `127.0.0.1 ${key}\n`);
    await sshd.file('alias', `the-alias ${key}\n`);
    await sshd.file('alias_config', 'Host *\n  HostKeyAlias the-alias\n');
    for (const ssh of [
      { knownHosts: ['hashed'] },
      { knownHosts: ['bare'] },
      { knownHosts: ['alias'], config: 'alias_config' },
    ]) {
      expect((await (await reach(ssh)).exec(['true'], TIMEOUT)).exitCode).toBe(0);
    }
  });

  it('says that nothing was sent where nobody listens', async () => {
    const transport = await reach({ port: await freePort() });
    const error = await failure(transport.exec(['true'], TIMEOUT));
    expect(error).toMatchObject({ code: 'ssh.unreachable', exit: EXIT.failed });
    expect(error.message).toMatch(/refused/i);
  });

  it('says that the user is not let in with a key that the host does not know', async () => {
    const transport = await reach({ identityFiles: ['stranger'] });
    expect(await failure(transport.exec(['true'], TIMEOUT))).toMatchObject({ code: 'ssh.auth' });
  });

  it('does not know the outcome when the connection dies under a command, and connects anew for the next', async () => {
    const transport = await reach();
    const started = join(sshd.dir, randomUUID());
    const lost = failure(transport.exec(['sh', '-c', `touch ${started}; sleep 60; exit 0`], TIMEOUT));
    await appears(started);
    await sshd.dropConnections();
    expect(await lost).toMatchObject({ code: 'ssh.outcome-unknown', exit: EXIT.unknown });
    expect((await transport.exec(['echo', 'again'], TIMEOUT)).stdout.toString()).toBe('again\n');
  });

  it('runs many commands at once and mixes up none', async () => {
    const transport = await reach();
    const texts = Array.from({ length: 30 }, () => randomUUID());
    const results = await Promise.all(
      texts.map((text) => transport.exec(['cat'], { stdin: text, ...TIMEOUT })),
    );
    expect(results.map(({ stdout }) => stdout.toString())).toEqual(texts);
  });

  it('waits for its turn on a host that allows few sessions', async () => {
    const narrow = await TestSshd.start({ config: ['MaxSessions 1'] });
    try {
      const transport = await open(narrow.settings());
      const results = await Promise.all(
        [1, 2, 3, 4].map((n) => transport.exec(['sh', '-c', `sleep 0.1; echo ${n}`], TIMEOUT)),
      );
      expect(results.map(({ stdout }) => stdout.toString().trim())).toEqual(['1', '2', '3', '4']);
      await transport.close();
    } finally {
      await narrow.stop();
    }
  });

  it('shows a secret in no process list and no environment', async () => {
    const transport = await reach();
    const secret = randomUUID();
    const everything = 'cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null; cat >/dev/null; exit 0';
    const { stdout } = await transport.exec(['sh', '-c', everything], {
      stdin: new Secret(secret),
      ...TIMEOUT,
    });
    expect(stdout.length).toBeGreaterThan(100);
    expect(stdout.includes(secret)).toBe(false);
  });

  it('sends nothing more once it is closed', async () => {
    const transport = await reach();
    await transport.exec(['true'], TIMEOUT);
    await transport.close();
    expect(await failure(transport.exec(['true'], TIMEOUT))).toMatchObject({
      code: 'ssh.aborted',
      exit: EXIT.failed,
    });
  });
});
