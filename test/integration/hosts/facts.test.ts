import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ServiceFact } from '../../../src/hosts/host.js';
import { RemoteHost } from '../../../src/hosts/remote-host.js';
import { failure } from '../../support/failure.js';
import { LocalTransport } from '../../support/local-transport.js';

describe.each(['dash', 'bash'] as const)('facts of a host whose sh is %s', (shell) => {
  let transport: LocalTransport;
  let host: RemoteHost;
  let dir: string;
  const children: ChildProcess[] = [];

  beforeEach(() => {
    transport = new LocalTransport({ shell });
    host = new RemoteHost('cp1', transport, { sudo: false });
    dir = join(transport.dir, 'etc');
    mkdirSync(dir);
  });
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    await host.close();
  });

  const put = (name: string, content: string | Uint8Array = ''): string => {
    writeFileSync(join(dir, name), content);
    return join(dir, name);
  };
  const start = async (...argv: readonly string[]): Promise<number> => {
    const child = spawn(argv[0] ?? '', argv.slice(1), { stdio: 'ignore' });
    children.push(child);
    await once(child, 'spawn');
    return child.pid ?? 0;
  };
  const serviceOf = async (pidFile: string): Promise<ServiceFact | undefined> =>
    (await host.readFacts({ services: { it: { kind: 'command', restart: [], pidFile } } })).services.get(
      'it',
    );

  it('give any number of files as they are, whatever they are called and hold', async () => {
    const isName = (text: string): boolean =>
      !/[/\x00-\x1f\x7f]|^\.{1,2}$/.test(text) && Buffer.byteLength(text) < 200;
    const files = fc.dictionary(fc.string({ minLength: 1 }).filter(isName), fc.string(), {
      maxKeys: 5,
      noNullPrototype: true,
    });
    await fc.assert(
      fc.asyncProperty(files, async (contents) => {
        const paths = Object.entries(contents).map(([name, content]) => put(name, content));
        const facts = await host.readFacts({ publicFiles: paths });
        expect([...facts.files.keys()].sort()).toEqual([...paths].sort());
        for (const [name, content] of Object.entries(contents)) {
          const sha256 = createHash('sha256').update(content).digest('hex');
          expect(facts.files.get(join(dir, name))).toMatchObject({ exists: true, content, sha256 });
        }
      }),
      { numRuns: 15 },
    );
  });

  it('give mode, owner and the time of the last change, which a rename moves too', async () => {
    const path = put('sa.pub', 'x');
    chmodSync(path, 0o640);
    const old = statSync(path);
    renameSync(path, `${path}.2`);
    const { files } = await host.readFacts({ publicFiles: [`${path}.2`] });
    const fact = files.get(`${path}.2`);
    expect(fact).toMatchObject({
      mode: 0o640,
      owner: userInfo().username,
      mtimeMs: expect.closeTo(old.mtimeMs, 0) as number,
    });
    expect(fact?.exists === true && fact.changedAtMs).toBeCloseTo(statSync(`${path}.2`).ctimeMs, 0);
  });

  it('tell absent files and dangling links from unreadable ones', async () => {
    symlinkSync('nowhere', join(dir, 'dangling'));
    const absent = [join(dir, 'no'), join(dir, 'no/such'), join(put('file'), 'below'), join(dir, 'dangling')];
    const { files } = await host.readFacts({ publicFiles: absent, privateKeys: [join(dir, 'no.key')] });
    expect([...files.values()].map(({ exists }) => exists)).toEqual([false, false, false, false, false]);
  });

  it('say what a path leads to that is no file, and do not wait for what it would give', async () => {
    symlinkSync('loop', join(dir, 'loop'));
    execFileSync('mkfifo', [join(dir, 'fifo')]);
    for (const [path, what] of [
      [dir, 'directory'],
      [join(dir, 'fifo'), 'fifo'],
      [join(dir, 'loop'), 'symbolic link that leads in a circle'],
      ['/dev/null', 'character special file'],
    ] as const) {
      for (const request of [{ publicFiles: [path] }, { privateKeys: [path] }]) {
        const error = await failure(host.readFacts(request));
        expect(error).toMatchObject({ code: 'host.read', host: 'cp1' });
        expect(error.message).toBe(`cannot read ${path} on cp1: it is a ${what}, not a file`);
        expect(error.hint).toContain('put a file there, or name the right one');
      }
    }
  });

  it('give the public half of a private key only, and none of what is no key', async () => {
    const key = join(dir, 'sa.key');
    const { publicKeyPem } = await host.generateKey(key, 'ecdsa-p256');
    const { files } = await host.readFacts({ privateKeys: [key, put('garbage', 'x'), put('empty')] });
    expect(files.get(key)).toMatchObject({ exists: true, publicKeyPem });
    expect(files.get(key)).not.toHaveProperty('content');
    for (const name of ['garbage', 'empty'])
      expect(files.get(join(dir, name))).not.toHaveProperty('publicKeyPem');
  });

  it('give a process by its pid file, with each of its arguments', async () => {
    const argv = ['sh', '-c', 'sleep 60; exit', 'a b', '', "it's\n--flag=1", ''];
    const begin = Date.now();
    const pid = await start(...argv);
    const fact = await serviceOf(put('pid', `${pid}\n`));
    expect(fact).toMatchObject({ running: true, pid, argv, user: userInfo().username });
    if (fact?.running !== true) throw new Error('not running');
    // A tick of the kernel's is 10 ms.
    expect(fact.startedAtMs).toBeGreaterThan(begin - 50);
    expect(fact.startedAtMs).toBeLessThan(Date.now());
    expect(fact.startTicks).toBeGreaterThan(0);
  });

  it('say why no process runs', async () => {
    const gone = await start('true');
    await once(children.at(-1) ?? children[0] ?? process, 'exit').catch(() => undefined);
    const reasons: readonly (readonly [string, string])[] = [
      [join(dir, 'no.pid'), 'does not exist'],
      [put('gone.pid', String(gone)), `no process ${gone}`],
      [put('wrong.pid', 'not a number'), 'no process has the pid'],
      [put('empty.pid'), 'no process has the pid'],
    ];
    for (const [pidFile, reason] of reasons) {
      expect(await serviceOf(pidFile)).toMatchObject({
        running: false,
        detail: expect.stringContaining(reason) as string,
      });
    }
  });

  it('give a systemd unit’s main process, or its state when there is none', async () => {
    const pid = await start('sleep', '60');
    transport.stub(
      'systemctl',
      `case "$*" in
        *-p\\ MainPID*--\\ up.service) printf 'SubState=running\\nMainPID=${pid}\\nLoadState=loaded\\nActiveState=active\\n' ;;
        *) printf 'MainPID=0\\nActiveState=failed\\nSubState=failed\\nLoadState=loaded\\n' ;;
      esac`,
    );
    const unit = (name: string): { kind: 'systemd'; unit: string } => ({ kind: 'systemd', unit: name });
    const { services } = await host.readFacts({
      services: { up: unit('up.service'), down: unit('down.service') },
    });
    expect(services.get('up')).toMatchObject({ running: true, pid, argv: ['sleep', '60'] });
    expect(services.get('down')).toEqual({
      running: false,
      detail: 'down.service is failed (failed, loaded)',
    });
  });

  it('do not take a systemd that cannot be asked for a unit that is down', async () => {
    transport.stub('systemctl', 'echo "Failed to connect to bus" >&2; exit 1');
    const error = await failure(host.readFacts({ services: { it: { kind: 'systemd', unit: 'x.service' } } }));
    expect(error).toMatchObject({ code: 'host.read' });
    expect(error.message).toContain('Failed to connect to bus');
  });

  it('give the clock, the name and the free space, also of a folder still to be made', async () => {
    const facts = await host.readFacts({ freeSpaceOf: [dir, join(dir, 'not/yet')] });
    expect(Math.abs(facts.clockOffsetMs)).toBeLessThan(1000);
    expect(facts.hostname).toBe(hostname());
    expect(facts.freeBytes.get(dir)).toBeGreaterThan(0);
    expect([...facts.freeBytes.keys()]).toEqual([dir, join(dir, 'not/yet')]);
  });

  it('see a clock that is wrong', async () => {
    transport.stub('date', 'echo "$(( $(/bin/date +%s) - 3600 )).000000000"');
    const { clockOffsetMs } = await host.readFacts({});
    expect(clockOffsetMs / 1000).toBeGreaterThan(-3603);
    expect(clockOffsetMs / 1000).toBeLessThan(-3597);
  });

  it('are not led astray by what a login prints', async () => {
    transport.stub('sh', `echo "Welcome! @certroll start"; echo "* * *" >&2; exec /bin/${shell} "$@"`);
    const { files } = await host.readFacts({ publicFiles: [put('x', 'y')] });
    expect(files.get(join(dir, 'x'))).toMatchObject({ content: 'y' });
  });

  it('are refused when the answer is cut short', async () => {
    transport.damage = (script) => Buffer.from(script.toString().replace(/^ {2}finish$/m, '  exit 0'));
    expect(await failure(host.readFacts({}))).toMatchObject({ code: 'host.read' });
  });
});
