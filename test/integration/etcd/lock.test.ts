import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CertrollError } from '../../../src/core/errors.js';
import type { LockHolder, Mutex, MutexOptions, Store } from '../../../src/etcd/store.js';
import { CtlLock, TestEtcd } from '../../support/etcd.js';

const HOLDER = {
  owner: 'me@bastion',
  pid: 1,
  run: 'r1',
  reason: 'restart on cp1',
  since: '2026-01-01T00:00:00Z',
};
const TTL = 5;

let etcd: TestEtcd;
let store: Store;
let names = 0;
/** A lock of its own for each test. */
const freshName = (): string => `lock-${(names += 1)}`;
const mutex = (name: string, options: Partial<MutexOptions> = {}, over = store): Mutex =>
  over.mutex(name, { ttl: TTL, waitMs: 30_000, holder: HOLDER, ...options });

const errorOf = async (promise: Promise<unknown>): Promise<CertrollError> => {
  const thrown: unknown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(CertrollError);
  return thrown as CertrollError;
};

const aborted = async (signal: AbortSignal): Promise<unknown> => {
  if (!signal.aborted)
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  return signal.reason;
};

beforeAll(async () => {
  etcd = await TestEtcd.start(3);
  store = await etcd.open();
});
afterAll(async () => etcd.stop());

describe('the mutex against etcdctl lock', () => {
  it('waits while etcdctl holds the lock, and names its key', async () => {
    const name = freshName();
    const other = etcd.lock(name);
    const key = await other.key;
    const seen: LockHolder[] = [];
    const waiting = mutex(name, { onWait: (holder) => seen.push(holder) }).acquire();
    while (seen.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(seen[0]).toMatchObject({ key, info: undefined });
    await other.release();
    const held = await waiting;
    await held.recheck();
    expect(await etcd.keys(`${name}/`)).toEqual([held.key]);
    await held.release();
    expect(await etcd.keys(`${name}/`)).toEqual([]);
  });

  it('keeps etcdctl out while it is held, and says who holds it', async () => {
    const name = freshName();
    const held = await mutex(name).acquire();
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

  it('lets twelve contenders in one at a time, six of them etcdctl', async () => {
    const name = freshName();
    let inside = 0;
    let most = 0;
    let turns = 0;
    const enter = (): void => {
      inside += 1;
      turns += 1;
      most = Math.max(most, inside);
    };
    const ours = Array.from({ length: 6 }, async () => {
      const held = await mutex(name, { waitMs: 60_000 }).acquire();
      enter();
      await held.recheck();
      inside -= 1;
      await held.release();
    });
    const theirs = Array.from({ length: 6 }, async () => {
      const other = etcd.lock(name);
      await other.key;
      enter();
      await store.checkQuorum();
      inside -= 1;
      await other.release();
    });
    await Promise.all([...ours, ...theirs]);
    expect({ turns, most }).toEqual({ turns: 12, most: 1 });
    expect(await etcd.keys(`${name}/`)).toEqual([]);
  });

  it('gives up in time with 5, naming the holder, and leaves no key', async () => {
    const name = freshName();
    const held = await mutex(name).acquire();
    const error = await errorOf(mutex(name, { waitMs: 500 }).acquire());
    expect(error).toMatchObject({ code: 'lock.timeout', exit: 5 });
    expect(error.message).toContain('me@bastion');
    expect(await etcd.keys(`${name}/`)).toEqual([held.key]);
    await held.release();
  });

  it('leaves no key when the wait is called off', async () => {
    const name = freshName();
    const held = await mutex(name).acquire();
    const controller = new AbortController();
    const waiting = mutex(name, {
      signal: controller.signal,
      onWait: () => controller.abort(new Error('called off')),
    }).acquire();
    await expect(waiting).rejects.toThrow('called off');
    expect(await etcd.keys(`${name}/`)).toEqual([held.key]);
    await held.release();
  });
});

describe('a lock that is lost', () => {
  it('by a revoked lease aborts its signal, and is not held any more', async () => {
    const held = await mutex(freshName()).acquire();
    const lease = held.key.split('/').at(-1) ?? '';
    await etcd.ctl('lease', 'revoke', lease);
    const error = await errorOf(held.recheck());
    expect(error.code).toBe('lock.lost');
    expect(await aborted(held.signal)).toMatchObject({ code: 'lock.lost' });
    expect(() => held.assertHeld()).toThrow('no longer held');
    await held.release();
  });

  it('because its only member hangs is given up before etcdctl gets in', async () => {
    const name = freshName();
    const alone = await etcd.open({ endpoints: etcd.endpoints.slice(0, 1) });
    const held = await mutex(name, {}, alone).acquire();
    const order: string[] = [];
    // etcdctl waits at the other members.
    const args = etcd.ctlArgs(etcd.endpoints.slice(1));
    const other = new CtlLock([...args, 'lock', name]);
    const entered = other.key.then(() => order.push('etcdctl is in'));
    while ((await etcd.keys(`${name}/`)).length < 2) await held.recheck();
    const lost = aborted(held.signal).then(() => order.push('given up'));
    etcd.hang(0);
    try {
      await Promise.all([lost, entered]);
      expect(order).toEqual(['given up', 'etcdctl is in']);
    } finally {
      etcd.wake(0);
      await other.release();
      await held.release();
    }
  });

  it.each([0, 1, 2])(
    'is not lost when member %i of three hangs for longer than the lease',
    async (member) => {
      const held = await mutex(freshName()).acquire();
      etcd.hang(member);
      try {
        const end = performance.now() + TTL * 1500;
        while (performance.now() < end) {
          await held.recheck();
          held.assertHeld();
        }
      } finally {
        etcd.wake(member);
      }
      await etcd.healthy();
      await held.release();
    },
  );

  it('without a majority is lost, and the store says why', async () => {
    const held = await mutex(freshName()).acquire();
    etcd.hang(1, 2);
    try {
      expect((await errorOf(store.checkQuorum())).code).toMatch(/^etcd\.(no-quorum|timeout)$/);
      expect(await aborted(held.signal)).toMatchObject({ code: 'lock.lost' });
    } finally {
      etcd.wake(1, 2);
      await etcd.healthy();
      await held.release();
    }
  });
});

describe('the store', () => {
  it('reads what it and etcdctl write, and refuses a write over a change by someone else', async () => {
    await store.put('/t/a', 'one');
    await etcd.ctl('put', '/t/b', 'two');
    const found = await store.list('/t/');
    expect([...found].map(([key, { value }]) => [key, value])).toEqual([
      ['/t/a', 'one'],
      ['/t/b', 'two'],
    ]);
    const revision = found.get('/t/a')?.modRevision ?? '';
    await etcd.ctl('put', '/t/a', 'changed');
    expect((await errorOf(store.put('/t/a', 'mine', { expectRevision: revision }))).code).toBe(
      'etcd.conflict',
    );
    expect((await etcd.ctl('get', '/t/a', '--print-value-only')).trim()).toBe('changed');
    await store.delete('/t/a');
    expect([...(await store.list('/t/')).keys()]).toEqual(['/t/b']);
  });

  it.each([
    ['a wrong CA', { ca: 'otherca.crt' }, 'etcd.tls'],
    ['no client certificate', { cert: undefined, key: undefined }, 'etcd.tls'],
    ['a port that nobody listens on', { endpoints: ['https://127.0.0.1:1'] }, 'etcd.unreachable'],
  ])('says what is wrong with %s', async (_what, settings, code) => {
    const wrong = await etcd.open(settings);
    const error = await errorOf(wrong.list('/'));
    expect(error).toMatchObject({ code, exit: 1 });
    expect(error.hint).toBeTruthy();
    expect(error.message).toContain('https://127.0.0.1:');
  });
});
