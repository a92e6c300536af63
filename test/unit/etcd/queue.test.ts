import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inOrder, lockKey, positionOf, type QueuedKey } from '../../../src/etcd/queue.js';

/** A queue as etcd may have it: revisions are unique, in any order and of any size. */
const queue = fc
  .uniqueArray(fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }), { minLength: 1, maxLength: 12 })
  .map((revisions) =>
    revisions.map((createRevision, at): QueuedKey => ({
      key: `lock/${at.toString(16)}`,
      createRevision,
      value: '',
      lease: String(at),
    })),
  );

describe('the queue of a lock', () => {
  it('has one holder, whoever asks, and each waiter behind another key', () => {
    fc.assert(
      fc.property(queue, (keys) => {
        const positions = keys.map((own) => positionOf(keys, own));
        expect(positions.filter(({ state }) => state === 'holder')).toHaveLength(1);
        const before = positions.flatMap((at) => (at.state === 'waiting' ? [at.before.key] : []));
        expect(new Set(before).size).toBe(keys.length - 1);
      }),
    );
  });

  it('gives the lock to the oldest key, and has all others name it', () => {
    fc.assert(
      fc.property(queue, (keys) => {
        const oldest = keys.reduce((a, b) => (b.createRevision < a.createRevision ? b : a));
        expect(inOrder(keys)[0]).toBe(oldest);
        for (const own of keys) {
          const position = positionOf(keys, own);
          if (own === oldest) expect(position).toEqual({ state: 'holder' });
          else expect(position).toMatchObject({ state: 'waiting', holder: oldest });
        }
      }),
    );
  });

  it('passes the lock on to the key that waited for the one that went', () => {
    fc.assert(
      fc.property(queue, fc.nat(), (keys, pick) => {
        const gone = keys[pick % keys.length]!;
        const left = keys.filter((key) => key !== gone);
        for (const own of left) {
          const [was, is] = [positionOf(keys, own), positionOf(left, own)];
          // Only the one that watched the key is told anything new about its own turn.
          if (was.state !== 'waiting' || was.before !== gone)
            expect(is.state === 'holder').toBe(was.state === 'holder');
        }
      }),
    );
  });

  it('knows the own key by its name and its create revision', () => {
    const keys = [{ key: 'lock/a', createRevision: 7n, value: '', lease: '1' }];
    expect(positionOf(keys, { key: 'lock/a', createRevision: 6n })).toEqual({ state: 'gone' });
    expect(positionOf(keys, { key: 'lock/b', createRevision: 7n })).toEqual({ state: 'gone' });
    expect(positionOf([], { key: 'lock/a', createRevision: 7n })).toEqual({ state: 'gone' });
  });

  it('names a key as Go prints a lease, in lower-case hex without padding', () => {
    expect(lockKey('kube-apiserver-restart', '7587870268406497538')).toBe(
      'kube-apiserver-restart/694d87ce8e1e0102',
    );
    expect(lockKey('a/b', '255')).toBe('a/b/ff');
  });
});
