import { appendFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HeldLock, LockHolder, Store } from '../../../src/etcd/store.js';
import { HOLDER, mutexOf, TestEtcd, TTL } from '../../support/etcd.js';
import { runCtl } from '../../support/etcdctl.js';
import { failure } from '../../support/failure.js';

let etcd: TestEtcd;
let store: Store;
let names = 0;
/** A lock of its own for each test. */
const freshName = (): string => `lock-${(names += 1)}`;

beforeAll(async () => {
  etcd = await TestEtcd.start(3);
  store = await etcd.open();
});
afterAll(async () => etcd.stop());

describe('the mutex beside etcdctl lock', () => {
  it('waits while etcdctl holds the lock, and names its key', async () => {
    const name = freshName();
    const other = etcd.lock(name);
    const key = await other.key;
    const seen: LockHolder[] = [];
    const waiting = mutexOf(store, name, { onWait: (holder) => seen.push(holder) }).acquire();
    while (seen.length === 0) await store.checkQuorum();
    expect(seen[0]).toMatchObject({ key, info: undefined });
    await other.release();
    const held = await waiting;
    await held.recheck();
    expect(await etcd.keys(`${name}/`)).toEqual([held.key]);
    await held.release();
    expect(await etcd.keys(`${name}/`)).toEqual([]);
  });

  it('keeps etcdctl out while it is held, and says who holds it and who waits', async () => {
    const name = freshName();
    const held = await mutexOf(store, name).acquire();
    const other = etcd.lock(name);
    const order: string[] = [];
    const entered = other.key.then(() => order.push('etcdctl'));
    while ((await etcd.keys(`${name}/`)).length < 2) await held.recheck();
    const [first, second] = await store.lockHolders(name);
    expect(first).toMatchObject({ key: held.key, info: HOLDER, lease: { granted: TTL } });
    expect(second?.info).toBeUndefined();
    expect(order).toEqual([]);
    order.push('released');
    await held.release();
    await entered;
    expect(order).toEqual(['released', 'etcdctl']);
    await other.release();
  });

  it('writes the key that etcdctl would: NAME/<lease in hex>, with the holder as its value', async () => {
    const name = freshName();
    const held = await mutexOf(store, name).acquire();
    const lease = held.key.slice(name.length + 1);
    const info = await etcd.ctl('lease', 'timetolive', lease, '--keys');
    // etcdctl prints sixteen digits here, and as many as it takes in the key.
    expect(info).toContain(`lease ${lease.padStart(16, '0')} granted with TTL(${TTL}s)`);
    expect(info).toContain(`attached keys([${held.key}])`);
    const value = await etcd.ctl('get', held.key, '--print-value-only');
    expect(JSON.parse(value)).toEqual(HOLDER);
    await held.release();
    // etcdctl ends with 1 for a lease that is not there, or says so, by version.
    expect(await etcd.ctl('lease', 'list')).not.toContain(lease);
  });

  it('lets twelve contenders in one at a time, six of them etcdctl', async () => {
    const name = freshName();
    // One file that all append to keeps the real order, whoever is told of it late.
    const log = etcd.pki.path('contenders.log');
    const script = etcd.pki.path('contender.sh');
    await writeFile(script, `echo "in $1" >>${log}; sleep 0.0$1; echo "out $1" >>${log}\n`);
    const ours = Array.from({ length: 6 }, async (_, at) => {
      const held = await mutexOf(store, name, { waitMs: 60_000 }).acquire();
      appendFileSync(log, `in ${at}\n`);
      await held.recheck();
      held.assertHeld();
      appendFileSync(log, `out ${at}\n`);
      await held.release();
    });
    const theirs = Array.from({ length: 6 }, async (_, at) =>
      runCtl([...etcd.ctlArgs(), 'lock', name, '--', 'sh', script, String(at + 6)]),
    );
    await Promise.all([...ours, ...theirs]);
    const lines = (await readFile(log, 'utf8')).trimEnd().split('\n');
    expect(lines).toHaveLength(24);
    lines.forEach((line, at) => {
      if (at % 2 === 1) expect(line).toBe(lines[at - 1]?.replace('in', 'out'));
    });
    expect(new Set(lines).size).toBe(24);
    expect(await etcd.keys(`${name}/`)).toEqual([]);
  });

  it('goes past a waiter before it that gives up, and stays behind the holder', async () => {
    const name = freshName();
    const held = await mutexOf(store, name).acquire();
    const controller = new AbortController();
    const impatient = mutexOf(store, name, { signal: controller.signal }).acquire();
    while ((await etcd.keys(`${name}/`)).length < 2) await held.recheck();
    const order: string[] = [];
    const patient = mutexOf(store, name, { onWait: () => controller.abort(new Error('called off')) })
      .acquire()
      .then((lock) => {
        order.push('entered');
        return lock;
      });
    await expect(impatient).rejects.toThrow('called off');
    while ((await etcd.keys(`${name}/`)).length > 2) await held.recheck();
    await held.recheck();
    order.push('released');
    await held.release();
    await (await patient).release();
    expect(order).toEqual(['released', 'entered']);
  });

  it('holds a lock under which another tool wrote a value of its own', async () => {
    const name = freshName();
    await etcd.ctl('put', `${name}/strange`, '{"owner": 7}');
    const error = await failure(mutexOf(store, name, { waitMs: 0 }).acquire());
    expect(error.message).toContain('etcdctl or another tool that leaves no name (lease strange)');
    expect(await store.lockHolders(name)).toMatchObject([{ info: undefined, lease: undefined }]);
    await etcd.ctl('del', `${name}/strange`);
    await (await mutexOf(store, name).acquire()).release();
  });
});

describe('a wait for the lock', () => {
  let name: string;
  let held: HeldLock;
  const setUp = async (): Promise<void> => {
    name = freshName();
    held = await mutexOf(store, name).acquire();
  };

  it('gives up in time with 5, naming the holder, and leaves no key', async () => {
    await setUp();
    const error = await failure(mutexOf(store, name, { waitMs: 500 }).acquire());
    expect(error).toMatchObject({ code: 'lock.timeout', exit: 5 });
    expect(error.message).toContain('me@bastion (pid 4711, run r1, since 2026-01-01T00:00:00Z');
    expect(await etcd.keys(`${name}/`)).toEqual([held.key]);
    await held.release();
  });

  it('leaves no key when it is called off', async () => {
    await setUp();
    const controller = new AbortController();
    const waiting = mutexOf(store, name, {
      signal: controller.signal,
      onWait: () => controller.abort(new Error('called off')),
    }).acquire();
    await expect(waiting).rejects.toThrow('called off');
    expect(await etcd.keys(`${name}/`)).toEqual([held.key]);
    await held.release();
  });

  it('sends nothing when it was called off before', async () => {
    await setUp();
    const signal = AbortSignal.abort(new Error('called off'));
    await expect(mutexOf(store, name, { signal }).acquire()).rejects.toThrow('called off');
    expect(await etcd.keys(`${name}/`)).toEqual([held.key]);
    await held.release();
  });

  it('ends with lock.lost when its own key is deleted', async () => {
    await setUp();
    const waiting = failure(mutexOf(store, name).acquire());
    let keys: readonly string[] = [];
    while ((keys = await etcd.keys(`${name}/`)).length < 2) await held.recheck();
    await etcd.ctl('del', keys.find((key) => key !== held.key) ?? '');
    // It looks again when the holder goes, or after a while.
    await held.release();
    expect((await waiting).code).toBe('lock.lost');
    expect(await etcd.keys(`${name}/`)).toEqual([]);
  });
});
