import { afterEach, describe, expect, it } from 'vitest';
import { RemoteHost } from '../../../src/hosts/remote-host.js';
import { failure } from '../../support/failure.js';
import { LocalTransport } from '../../support/local-transport.js';

/** A sudo that only notes that it was used. */
const WILLING = '[ "$1 $2" = "-n --" ] || exit 99; shift 2; VIA_SUDO=yes exec "$@"';
const PRINT = ['sh', '-c', 'printf "%s" "${VIA_SUDO-no}"'];

describe('sudo', () => {
  const opened: RemoteHost[] = [];
  const hostWith = (sudo: string, options: { user?: string; sudo?: boolean } = {}): RemoteHost => {
    const transport = new LocalTransport({ user: options.user ?? 'operator' });
    transport.stub('sudo', sudo);
    const host = new RemoteHost('cp1', transport, { sudo: options.sudo ?? true });
    opened.push(host);
    return host;
  };
  afterEach(() => Promise.all(opened.splice(0).map((host) => host.close())));

  const used = async (host: RemoteHost, options?: { sudo: boolean }): Promise<string> =>
    (await host.run(PRINT, options)).stdout.toString();

  it('is used as the cluster file says, unless the caller says otherwise', async () => {
    expect(await used(hostWith(WILLING))).toBe('yes');
    expect(await used(hostWith(WILLING, { sudo: false }))).toBe('no');
    expect(await used(hostWith(WILLING), { sudo: false })).toBe('no');
    expect(await used(hostWith(WILLING, { sudo: false }), { sudo: true })).toBe('yes');
  });

  it('is not used by root', async () => {
    expect(await used(hostWith('exit 99', { user: 'root' }))).toBe('no');
  });

  it('lets facts and files through', async () => {
    const host = hostWith(WILLING);
    const { files } = await host.readFacts({ publicFiles: ['/etc/passwd'] });
    expect(files.get('/etc/passwd')).toMatchObject({ exists: true });
  });

  it.each([
    ['sudo: a password is required'],
    ['sudo: sorry, a password is required to run sudo'],
    ['sudo: no password was provided'],
  ])('that says %j wants a password: the hint has the rule to add', async (said) => {
    const error = await failure(hostWith(`echo '${said}' >&2; exit 1`).readFacts({}));
    expect(error).toMatchObject({ code: 'sudo.password', host: 'cp1' });
    expect(error.hint).toContain('operator ALL=(root) NOPASSWD: ALL');
  });

  it.each([
    ["Sorry, user operator is not allowed to execute '/usr/bin/sh' as root on cp1.", 1],
    ['Sorry, user operator may not run sudo on cp1.', 1],
    ['operator is not in the sudoers file.', 1],
    ['sudo: sorry, you must have a tty to run sudo', 1],
    ["sudo: I'm sorry operator. I'm afraid I can't do that: not allowed", 1],
    ["env: 'sudo': No such file or directory", 127],
  ])('that says %j refuses', async (said, code) => {
    const error = await failure(hostWith(`cat >&2 <<'EOF'\n${said}\nEOF\nexit ${code}`).run(['true']));
    expect(error).toMatchObject({ code: 'sudo.refused', host: 'cp1' });
    expect(error.hint).toBeTruthy();
  });

  it('is not blamed for the command’s own failure', async () => {
    const error = await failure(hostWith(WILLING).run(['sh', '-c', 'echo "no such thing" >&2; exit 1']));
    expect(error).toMatchObject({ code: 'host.command' });
    expect(error.message).toContain('exited with 1: no such thing');
  });
});

describe('a command', () => {
  it('fails with host.command unless its status is one of those expected', async () => {
    const host = new RemoteHost('cp1', new LocalTransport(), { sudo: false });
    expect(await failure(host.run(['false']))).toMatchObject({ code: 'host.command', host: 'cp1' });
    expect((await host.run(['sh', '-c', 'exit 3'], { okCodes: [0, 3] })).exitCode).toBe(3);
    await host.close();
  });
});
