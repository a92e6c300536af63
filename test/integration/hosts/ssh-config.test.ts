import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { clusterFileSchema } from '../../../src/cluster/schema.js';
import { EXIT } from '../../../src/core/errors.js';
import { parseJump, resolveTarget, type SshTarget } from '../../../src/hosts/ssh-config.js';
import { failure } from '../../support/failure.js';

describe('how a host is reached', () => {
  const dir = mkdtempSync(join(tmpdir(), 'certroll-config-'));
  afterAll(() => rmSync(dir, { recursive: true }));
  afterEach(() => vi.unstubAllEnvs());

  const resolve = (name: string, config: string, ssh: object = {}): Promise<SshTarget> => {
    writeFileSync(join(dir, 'config'), config);
    const settings = clusterFileSchema.shape.ssh.parse({ config: 'config', ...ssh });
    return resolveTarget(name, { ssh: settings, baseDir: dir });
  };

  it('comes from ssh_config, with its Include and Match blocks', async () => {
    writeFileSync(join(dir, 'more'), 'Match host cp1 exec "true"\n  Port 2222\n  User operator\n');
    const target = await resolve('cp1', `Include ${join(dir, 'more')}\nHost cp1\n  HostName 10.0.0.1\n`);
    expect(target).toMatchObject({ name: 'cp1', hostname: '10.0.0.1', port: 2222, user: 'operator' });
  });

  it('has sound defaults', async () => {
    expect(await resolve('cp1', '')).toMatchObject({
      ...{ hostname: 'cp1', port: 22, user: userInfo().username, jumps: [], identitiesOnly: false },
      keyName: { name: 'cp1', isAlias: false },
    });
  });

  it('is what the cluster file says where both speak', async () => {
    const config =
      'Host *\n  Port 1\n  User a\n  IdentityFile ~/a\n  UserKnownHostsFile ~/a\n  ProxyJump a\n';
    const ssh = {
      port: 2,
      user: 'b',
      identityFiles: ['b', '~/b', '/b'],
      knownHosts: ['b'],
      proxyJump: 'b:3,c@d',
    };
    expect(await resolve('cp1', config, ssh)).toMatchObject({
      ...{ port: 2, user: 'b', jumps: ['b:3', 'c@d'] },
      identityFiles: [join(dir, 'b'), join(homedir(), 'b'), '/b'],
      knownHostsFiles: [join(dir, 'b')],
    });
  });

  it('lets Match blocks see the cluster file’s user', async () => {
    expect(await resolve('cp1', 'Match user b\n  Port 77\n', { user: 'b' })).toMatchObject({ port: 77 });
  });

  it('has the files of ssh_config with their home and tokens', async () => {
    const config =
      'Host cp1\n  HostName h\n  Port 9\n  IdentityFile ~/keys/%n-%h-%p-%r-100%%\n  User u\n  UserKnownHostsFile ~/k1 /k2\n  GlobalKnownHostsFile none\n';
    expect(await resolve('cp1', config)).toMatchObject({
      identityFiles: [join(homedir(), 'keys/cp1-h-9-u-100%')],
      knownHostsFiles: [join(homedir(), 'k1'), '/k2'],
    });
  });

  it('uses the alias that keys are filed under', async () => {
    expect(await resolve('cp1', 'Host *\n  HostKeyAlias Pet\n')).toMatchObject({
      keyName: { name: 'pet', isAlias: true },
    });
  });

  it.each([
    ['', {}, '/env/agent'],
    ['IdentityAgent ~/agent', {}, join(homedir(), 'agent')],
    ['IdentityAgent $OTHER', {}, '/other/agent'],
    ['IdentityAgent none', {}, undefined],
    ['', { agent: false }, undefined],
  ])('with %j and %j asks the agent %s', async (line, ssh, socket) => {
    vi.stubEnv('SSH_AUTH_SOCK', '/env/agent');
    vi.stubEnv('OTHER', '/other/agent');
    expect((await resolve('cp1', line, ssh)).agentSocket).toBe(socket);
  });

  it('is not guessed from a configuration that ssh refuses', async () => {
    const error = await failure(resolve('cp1', 'NoSuchOption yes\n'));
    expect(error).toMatchObject({ code: 'ssh.config', exit: EXIT.usage, host: 'cp1' });
    expect(error.message).toMatch(/line 1.*nosuchoption/i);
  });

  it.each([
    ['hop', { name: 'hop' }],
    ['u@hop:22', { user: 'u', name: 'hop', port: 22 }],
    ['ssh://u@hop:22', { user: 'u', name: 'hop', port: 22 }],
    ['u@x@[fe80::1]:2', { user: 'u@x', name: 'fe80::1', port: 2 }],
    ['fe80::1', { name: 'fe80::1' }],
  ])('reads the jump %s', (jump, parts) => {
    expect(parseJump(jump)).toEqual(parts);
  });

  it.each(['', 'u@', '-oProxyCommand=x', 'u@-x', ':22'])('refuses the jump %j', (jump) => {
    expect(() => parseJump(jump)).toThrow(/is not a jump host/);
  });
});
