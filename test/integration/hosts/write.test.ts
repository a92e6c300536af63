import { createHash } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Secret } from '../../../src/core/secret.js';
import { RemoteHost } from '../../../src/hosts/remote-host.js';
import { WRITE_SCRIPT } from '../../../src/hosts/write.js';
import { failure } from '../../support/failure.js';
import { LocalTransport } from '../../support/local-transport.js';

describe.each(['dash', 'bash'] as const)('files of a host whose sh is %s', (shell) => {
  let transport: LocalTransport;
  let host: RemoteHost;
  let dir: string;

  beforeEach(() => {
    transport = new LocalTransport({ shell });
    host = new RemoteHost('cp1', transport, { sudo: false });
    dir = join(transport.dir, 'pki');
    mkdirSync(dir);
  });
  afterEach(() => host.close());

  const path = (name: string): string => join(dir, name);
  const put = (name: string, content: string, mode = 0o644): string => {
    writeFileSync(path(name), content);
    chmodSync(path(name), mode);
    return path(name);
  };
  const read = (name: string): string => readFileSync(path(name), 'utf8');
  const modeOf = (name: string): number => statSync(path(name)).mode & 0o7777;

  it('hold any bytes under any name', async () => {
    const isName = (text: string): boolean =>
      !/[/\x00-\x1f\x7f]|^\.{1,2}$/.test(text) && Buffer.byteLength(text) < 200;
    const name = fc
      .oneof(
        fc.string({ minLength: 1 }),
        fc.string({ minLength: 1, unit: fc.constantFrom(...Array.from('-. $\'"*\\é')) }),
      )
      .filter(isName);
    await fc.assert(
      fc.asyncProperty(name, fc.uint8Array(), async (text, bytes) => {
        await host.writeFile(path(text), new Secret(bytes));
        expect(readFileSync(path(text)).equals(bytes)).toBe(true);
      }),
      { numRuns: 40 },
    );
    expect(readdirSync(dir).filter((entry) => entry.includes('.certroll-'))).toEqual([]);
  });

  it('keep mode and owner of the file that is replaced, in a new inode', async () => {
    put('sa.pub', 'old', 0o640);
    const before = statSync(path('sa.pub'));
    await host.writeFile(path('sa.pub'), 'new', { mode: 0o600, like: '/etc/passwd' });
    const after = statSync(path('sa.pub'));
    expect(read('sa.pub')).toBe('new');
    expect([after.mode, after.uid, after.gid]).toEqual([before.mode, before.uid, before.gid]);
    expect(after.ino).not.toBe(before.ino);
  });

  it('are new with the mode asked for, that of another file, or a safe one', async () => {
    put('model', '', 0o604);
    await host.writeFile(path('asked'), 'x', { mode: 0o640 });
    await host.writeFile(path('like'), 'x', { like: path('model') });
    await host.writeFile(path('public'), 'x');
    await host.writeFile(path('private'), new Secret('x'));
    expect(['asked', 'like', 'public', 'private'].map(modeOf)).toEqual([0o640, 0o604, 0o644, 0o600]);
  });

  it('leave the replaced one behind as a second name of the same bytes', async () => {
    put('sa.pub', 'old');
    const { ino } = statSync(path('sa.pub'));
    await host.writeFile(path('sa.pub'), 'new', { keepPrevious: true });
    expect(statSync(path('sa.pub.certroll-previous')).ino).toBe(ino);
    await host.writeFile(path('sa.pub'), 'newer', { keepPrevious: true });
    expect(read('sa.pub.certroll-previous')).toBe('new');
  });

  it('are left alone when they hold these bytes already, so that a resumed run keeps the last good ones', async () => {
    put('sa.pub', 'old');
    await host.writeFile(path('sa.pub'), 'new', { keepPrevious: true });
    const { ino } = statSync(path('sa.pub'));
    await host.writeFile(path('sa.pub'), 'new', { keepPrevious: true });
    expect(statSync(path('sa.pub')).ino).toBe(ino);
    expect(read('sa.pub.certroll-previous')).toBe('old');
  });

  it('are written through a link, which stays one', async () => {
    put('real', 'old');
    symlinkSync('real', path('link'));
    await host.writeFile(path('link'), 'new', { keepPrevious: true });
    expect(readlinkSync(path('link'))).toBe('real');
    expect(read('real')).toBe('new');
    expect(read('link.certroll-previous')).toBe('old');
  });

  it('are seen by readers as the old or the new, never as part or missing', async () => {
    const contents = ['a', 'b'].map((char) => char.repeat(300_000));
    put('sa.pub', contents[0] ?? '');
    const reader = spawn('sh', ['-c', `while :; do sha256sum <${path('sa.pub')} || echo missing; done`]);
    const seen = new Set<string>();
    let pending = '';
    reader.stdout.on('data', (chunk: Buffer) => {
      const lines = (pending + chunk.toString()).split('\n');
      pending = lines.pop() ?? '';
      lines.forEach((line) => seen.add(line));
    });
    for (let round = 0; round < 10; round++)
      await host.writeFile(path('sa.pub'), contents[round % 2] ?? '', { keepPrevious: true });
    await vi.waitUntil(() => seen.size >= 2, { timeout: 10_000 });
    reader.kill();
    await once(reader, 'exit');
    expect(seen.size).toBe(2);
  });

  it('stay as they are when what arrives is not what was sent', async () => {
    put('sa.pub', 'old');
    transport.damage = (stdin) => stdin.subarray(0, stdin.length - 1);
    expect(await failure(host.writeFile(path('sa.pub'), 'new'))).toMatchObject({
      code: 'host.write',
      host: 'cp1',
    });
    expect([read('sa.pub'), readdirSync(dir)]).toEqual(['old', ['sa.pub']]);
  });

  it('stay as they are when the disk is full', async () => {
    put('sa.pub', 'old');
    transport.stub('cat', 'echo "cat: write error: No space left on device" >&2; exit 1');
    const error = await failure(host.writeFile(path('sa.pub'), 'new'));
    expect(error).toMatchObject({ code: 'host.no-space', host: 'cp1' });
    expect(error.hint).toMatch(/untouched/);
    expect([read('sa.pub'), readdirSync(dir)]).toEqual(['old', ['sa.pub']]);
  });

  it('are written only where they are what was read', async () => {
    const sum = (text: string): string => createHash('sha256').update(text).digest('hex');
    put('a', 'one', 0o600);
    await host.writeFile(path('a'), 'two', { ifSha256: sum('one') });
    expect([read('a'), modeOf('a')]).toEqual(['two', 0o600]);
    for (const [name, expected] of [
      ['a', sum('one')],
      ['none', sum('one')],
    ] as const) {
      expect(await failure(host.writeFile(path(name), 'three', { ifSha256: expected }))).toMatchObject({
        code: 'host.changed',
        host: 'cp1',
        message: expect.stringContaining(path(name)) as string,
      });
    }
    expect(read('a')).toBe('two');
    expect(readdirSync(dir)).toEqual(['a']);
  });

  it('stay as they are when the script is ended half-way, and nothing staged is left', async () => {
    put('sa.pub', 'old');
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
      const words = [path('sa.pub'), '0'.repeat(64), '', '644', '', ''];
      const child = spawn(`/bin/${shell}`, ['-c', WRITE_SCRIPT, 'certroll', ...words], { detached: true });
      child.stdin.on('error', () => undefined);
      child.stdin.write('half of');
      await vi.waitUntil(() => readdirSync(dir).length === 2, { timeout: 10_000 });
      expect(lstatSync(path(readdirSync(dir).find((name) => name.startsWith('.')) ?? '')).mode & 0o777).toBe(
        0o600,
      );
      process.kill(-(child.pid ?? 0), signal);
      await once(child, 'close');
      expect([read('sa.pub'), readdirSync(dir)]).toEqual(['old', ['sa.pub']]);
    }
  });

  it('are not written over a folder, nor into one that does not exist', async () => {
    mkdirSync(path('folder'));
    for (const name of ['folder', 'no/such']) {
      expect(await failure(host.writeFile(path(name), 'x'))).toMatchObject({ code: 'host.write' });
    }
    expect(readdirSync(dir)).toEqual(['folder']);
  });

  it('are installed over live ones, with their owner and mode', async () => {
    put('sa.key', 'old key', 0o640);
    put('sa.pub', 'old pub', 0o604);
    put('.new.key', 'new key', 0o600);
    put('.new.pub', 'new pub', 0o600);
    const files = ['key', 'pub'].map((end) => ({ from: path(`.new.${end}`), to: path(`sa.${end}`) }));
    await host.installFiles(files, { keepPrevious: true });
    expect(['sa.key', 'sa.pub', 'sa.key.certroll-previous', 'sa.pub.certroll-previous'].map(read)).toEqual([
      ...['new key', 'new pub', 'old key', 'old pub'],
    ]);
    expect([modeOf('sa.key'), modeOf('sa.pub')]).toEqual([0o640, 0o604]);
    expect(readdirSync(dir)).toHaveLength(4);
  });

  it('are put back from what was kept', async () => {
    put('sa.pub', 'old', 0o640);
    await host.writeFile(path('sa.pub'), 'new', { keepPrevious: true });
    await host.installFiles([{ from: path('sa.pub.certroll-previous'), to: path('sa.pub') }], {
      keepPrevious: true,
    });
    expect([read('sa.pub'), modeOf('sa.pub'), readdirSync(dir)]).toEqual(['old', 0o640, ['sa.pub']]);
  });

  it('are all left alone when one of those to install is missing', async () => {
    put('sa.key', 'old');
    put('.new.key', 'new');
    const files = [
      { from: path('.new.key'), to: path('sa.key') },
      { from: path('.missing'), to: path('sa.pub') },
    ];
    const error = await failure(host.installFiles(files));
    expect(error).toMatchObject({ code: 'host.write' });
    expect(error.message).toContain('.missing does not exist');
    expect([read('sa.key'), read('.new.key')]).toEqual(['old', 'new']);
  });

  it('are removed, links too and not what they lead to', async () => {
    put('real', 'x');
    symlinkSync('real', path('link'));
    linkSync(path('real'), path('second'));
    await host.removeFile(path('link'));
    await host.removeFile(path('second'));
    await host.removeFile(path('never there'));
    expect(readdirSync(dir)).toEqual(['real']);
  });

  it('are named by absolute paths only', async () => {
    for (const wrong of ['pki/sa.pub', '', '/etc/x\ny', '-rf']) {
      expect(await failure(host.removeFile(wrong))).toMatchObject({ code: 'usage.path' });
    }
  });

  describe('put back', () => {
    const previous = (name: string): string => `${name}.certroll-previous`;

    it('are what they were before their last change, and what replaced them is kept aside', async () => {
      put('key', 'old', 0o640);
      put('key.next', 'new');
      await host.installFiles([{ from: path('key.next'), to: path('key') }], { keepPrevious: true });
      await host.restoreFiles([{ path: path('key'), aside: path('key.next') }]);
      expect([read('key'), read('key.next'), modeOf('key')]).toEqual(['old', 'new', 0o640]);
      expect(readdirSync(dir).sort()).toEqual(['key', 'key.next']);
    });

    it('change places with what they were when that is asked for, and back again', async () => {
      put('key', 'new');
      put(previous('key'), 'old');
      const swap = [{ path: path('key'), aside: path(previous('key')) }];
      await host.restoreFiles(swap);
      expect([read('key'), read(previous('key'))]).toEqual(['old', 'new']);
      await host.restoreFiles(swap);
      expect([read('key'), read(previous('key'))]).toEqual(['new', 'old']);
      expect(readdirSync(dir).sort()).toEqual(['key', previous('key')]);
    });

    it('stay as they are when one of them has no predecessor', async () => {
      put('key', 'new');
      put(previous('key'), 'old');
      put('crt', 'new');
      const error = await failure(host.restoreFiles([{ path: path('key') }, { path: path('crt') }]));
      expect(error).toMatchObject({ code: 'host.write' });
      expect([read('key'), read('crt')]).toEqual(['new', 'new']);
    });
  });

  describe('behind a fence', () => {
    it('are changed while there is time', async () => {
      await host.fenced({ leftMs: () => 5000 }).writeFile(path('a'), 'x');
      expect(read('a')).toBe('x');
    });

    it.each([0, -60_000])('are left alone, by the host itself, when %i ms are left', async (left) => {
      const late = host.fenced({ leftMs: () => left });
      for (const change of [
        async () => late.writeFile(path('a'), 'x'),
        async () => late.generateKey(path('k'), 'ecdsa-p256'),
        async () => late.run(['touch', path('b')]),
      ])
        expect(await failure(change())).toMatchObject({ code: 'lock.too-late', host: 'cp1' });
      expect(readdirSync(dir)).toEqual([]);
      // Reading is allowed at any time.
      expect((await late.readFacts({ publicFiles: [path('a')] })).files.get(path('a'))?.exists).toBe(false);
    });

    describe('of what was seen in the files', () => {
      const sumOf = (text: string): string => createHash('sha256').update(text).digest('hex');
      const seen = (sums: Readonly<Record<string, string | undefined>>) =>
        host.fenced({
          leftMs: () => 5000,
          sums: new Map(Object.entries(sums).map(([name, sum]) => [path(name), sum])),
        });

      it('are changed while they are what they were, missing ones included', async () => {
        put('a', 'old');
        const fenced = seen({ a: sumOf('old'), "it's none": undefined });
        await fenced.writeFile(path('a'), 'new');
        // Its own change is not somebody else's.
        await fenced.writeFile(path('a'), 'newer');
        expect(read('a')).toBe('newer');
      });

      it.each<readonly [string, Readonly<Record<string, string | undefined>>]>([
        ['another content', { a: sumOf('other') }],
        ['a file where there was none', { a: undefined }],
        ['no file where there was one', { a: sumOf('old'), gone: sumOf('there') }],
        ['another content behind others that are the same', { a: sumOf('old'), b: undefined, c: sumOf('x') }],
      ])('are left alone, by the host itself, with %s', async (_what, sums) => {
        put('a', 'old');
        put('c', 'changed');
        put('staged', 'new');
        const fenced = seen(sums);
        for (const change of [
          async () => fenced.writeFile(path('a'), 'new'),
          async () => fenced.installFiles([{ from: path('staged'), to: path('a') }]),
          async () => fenced.removeFile(path('b')),
          async () => fenced.run(['touch', path('restarted')]),
        ])
          expect(await failure(change())).toMatchObject({ code: 'host.changed', host: 'cp1' });
        expect(readdirSync(dir).sort()).toEqual(['a', 'c', 'staged']);
        expect(read('a')).toBe('old');
      });
    });
  });
});
