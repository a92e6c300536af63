import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { access, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ClusterFile } from '../../../src/cluster/schema.js';
import { createTransport } from '../../../src/hosts/connect.js';
import { failure } from '../../support/failure.js';
import { sshKeygen, TestSshd } from '../../support/sshd.js';

const TIMEOUT = { timeoutMs: 20_000 };

describe('logging in', () => {
  let sshd: TestSshd;
  let agent: ChildProcess;
  let socket: string;

  beforeAll(async () => {
    sshd = await TestSshd.start();
    // The user's key as a person has it: encrypted, and loaded into an agent.
    await execa('cp', [join(sshd.dir, 'user'), join(sshd.dir, 'plain')]);
    await sshKeygen('-q', '-p', '-P', '', '-N', 'a passphrase', '-f', join(sshd.dir, 'user'));
    socket = join(sshd.dir, 'agent');
    agent = spawn('ssh-agent', ['-D', '-a', socket], { stdio: 'ignore' });
    await vi.waitFor(() => access(socket), { timeout: 10_000, interval: 20 });
    const env = { SSH_AUTH_SOCK: socket };
    // The stranger's key comes first: one key that is refused must not end the login.
    await execa('ssh-add', ['-q', join(sshd.dir, 'stranger'), join(sshd.dir, 'plain')], { env });
  });
  afterAll(async () => {
    agent.kill();
    await sshd.stop();
  });

  const status = async (ssh: Partial<ClusterFile['ssh']>, config = '# none\n'): Promise<number> => {
    await sshd.file('ssh_config', config);
    const transport = await createTransport('127.0.0.1', sshd.settings(ssh));
    onTestFinished(() => transport.close());
    return (await transport.exec(['true'], TIMEOUT)).exitCode;
  };
  const withAgent = `IdentityAgent `;

  it('with an encrypted key is left to the agent, and says so when there is none', async () => {
    const error = await failure(status({}));
    expect(error).toMatchObject({ code: 'ssh.auth' });
    expect(error.message).toContain(
      `user is encrypted: add it to ssh-agent with ssh-add ${join(sshd.dir, 'user')}`,
    );
  });

  it.each(['ssh2', 'openssh'] as const)('works with the agent (%s)', async (transport) => {
    expect(await status({ transport, agent: true }, `${withAgent}${socket}\n`)).toBe(0);
  });

  it.each(['ssh2', 'openssh'] as const)(
    'uses of the agent only the keys named, with IdentitiesOnly (%s)',
    async (transport) => {
      const config = `IdentitiesOnly yes\n${withAgent}${socket}\n`;
      expect(await status({ transport, agent: true }, config)).toBe(0);
      const other = status({ transport, agent: true, identityFiles: ['stranger'] }, config);
      expect(await failure(other)).toMatchObject({ code: 'ssh.auth' });
    },
  );

  it('goes on without an agent that does not answer', async () => {
    const config = `${withAgent}${join(sshd.dir, 'no-agent')}\n`;
    expect(await status({ agent: true, identityFiles: ['plain'] }, config)).toBe(0);
    expect(await failure(status({ agent: true, identityFiles: ['stranger'] }, config))).toMatchObject({
      code: 'ssh.auth',
    });
  });

  it('knows a host by @cert-authority with openssh; ssh2 refuses and names that way out', async () => {
    const ca = join(sshd.dir, 'ca');
    await sshKeygen('-q', '-t', 'ed25519', '-N', '', '-f', ca);
    await sshKeygen(
      '-q',
      '-s',
      ca,
      '-I',
      'host',
      '-h',
      '-n',
      '127.0.0.1',
      join(sshd.dir, 'host_ed25519.pub'),
    );
    const certified = await TestSshd.start({
      config: [
        `HostCertificate ${join(sshd.dir, 'host_ed25519-cert.pub')}`,
        `HostKey ${join(sshd.dir, 'host_ed25519')}`,
      ],
    });
    onTestFinished(() => certified.stop());
    await writeFile(join(certified.dir, 'authorized_keys'), await readFile(join(sshd.dir, 'user.pub')));
    await sshd.file('by_ca', `@cert-authority * ${await readFile(`${ca}.pub`, 'utf8')}`);
    const ssh = { port: certified.port, knownHosts: ['by_ca'], identityFiles: ['plain'] };
    expect(await status({ ...ssh, transport: 'openssh' })).toBe(0);
    const error = await failure(status({ ...ssh, transport: 'ssh2' }));
    expect(error).toMatchObject({
      code: 'ssh.host-key',
      hint: 'Set ssh.transport: openssh in the cluster file.',
    });
  });
});

describe('the shared connection of openssh', () => {
  it('ends with certroll, even when certroll is killed', async () => {
    const sshd = await TestSshd.start();
    onTestFinished(() => sshd.stop());
    const script = `
      import { createTransport } from ${JSON.stringify(new URL('../../../src/hosts/connect.ts', import.meta.url).href)};
      const transport = await createTransport('127.0.0.1', ${JSON.stringify(sshd.settings({ transport: 'openssh' }))});
      await transport.connect();
      console.log('connected');
      setInterval(() => {}, 1000);`;
    const program = join(sshd.dir, 'program.mts');
    await writeFile(program, script);
    const child = spawn(process.execPath, ['--import', 'tsx', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, TMPDIR: sshd.dir },
    });
    await once(child.stdout, 'data');
    const [dir = ''] = await sharedIn(sshd.dir);
    const probe = ['-S', join(sshd.dir, dir, 's'), '-O', 'check', '127.0.0.1'];
    await execa('ssh', probe);
    child.kill('SIGKILL');
    await vi.waitFor(
      async () => {
        await expect(execa('ssh', probe)).rejects.toThrow();
        expect(await sharedIn(sshd.dir)).toEqual([]);
      },
      { timeout: 10_000 },
    );
  });
});

/** Folders of shared connections in a folder for temporary files. */
const sharedIn = async (dir: string): Promise<string[]> =>
  (await readdir(dir)).filter((name) => name.startsWith('certroll-ssh-'));
