import { CertrollError, EXIT } from '../core/errors.js';
import { formatDuration } from '../core/duration.js';
import { pause } from '../core/poll.js';
import { describeHolder, holderOf, readQueue } from './holders.js';
import type { Lease } from './lease.js';
import type { Members } from './members.js';
import { positionOf, type OwnKey, type QueuedKey } from './queue.js';
import type { LockHolder, MutexOptions } from './store.js';
import { deletionOf } from './watch.js';

/** Longest time between two looks at the queue: a watch on a member that hangs never says anything. */
const REREAD_MS = 2000;
/** Shortest time between two looks, where a watch or a read fails at once. */
const RETRY_MS = 300;

/** What a call that failed may do better the next time: an election takes a second or two. */
const PASSING: readonly string[] = ['etcd.unreachable', 'etcd.timeout', 'etcd.no-quorum'];

export interface Turn {
  readonly members: Members;
  readonly name: string;
  readonly own: OwnKey;
  readonly lease: Lease;
  readonly options: MutexOptions;
  /** By `performance.now()`. */
  readonly until: number;
}

/** Waits until the own key is the oldest. Throws `lock.timeout`, `lock.lost`, `etcd.*` or the signal's reason. */
export const waitForTurn = async (turn: Turn): Promise<void> => {
  const { members, name, own, lease, options } = turn;
  const stop = options.signal ? AbortSignal.any([options.signal, lease.lost]) : lease.lost;
  let holder: QueuedKey | undefined;
  for (;;) {
    const seen = await queueOf(turn, stop);
    const position = positionOf(seen.keys, own);
    if (position.state === 'gone') lease.lose('its key is gone from etcd');
    lease.assertAlive();
    if (position.state !== 'waiting') return;
    if (holder?.key !== position.holder.key) {
      holder = position.holder;
      options.onWait?.(await holderOf(members, holder));
    }
    const left = turn.until - performance.now();
    if (left <= 0) throw lockTimeout(name, options.waitMs, await holderOf(members, holder));
    await untilGone(turn, position.before, seen.revision, Math.min(left, REREAD_MS), stop);
  }
};

/** Reads the queue, again and again while etcd cannot answer: as long as the lease holds, the place in it is kept. */
const queueOf = async (turn: Turn, stop: AbortSignal): ReturnType<typeof readQueue> => {
  for (;;) {
    try {
      return await readQueue(turn.members, turn.name, { signal: stop });
    } catch (thrown) {
      stop.throwIfAborted();
      const passing = thrown instanceof CertrollError && PASSING.includes(thrown.code);
      if (!passing || performance.now() >= turn.until) throw thrown;
      await pause(RETRY_MS, stop).catch((reason: unknown) => {
        // The lease ran out because of what etcd answered here, and that is the news.
        throw turn.lease.lost.aborted ? thrown : reason;
      });
    }
  }
};

/** Returns when the key may be gone, or after that time: the queue is read again in any case. */
const untilGone = async (
  { members }: Turn,
  before: QueuedKey,
  revision: bigint,
  ms: number,
  stop: AbortSignal,
): Promise<void> => {
  const time = AbortSignal.any([stop, AbortSignal.timeout(Math.ceil(ms))]);
  const deleted = await deletionOf(members, before.key, revision + 1n, time);
  stop.throwIfAborted();
  if (!deleted && !time.aborted) await pause(Math.min(ms, RETRY_MS), stop);
};

const lockTimeout = (name: string, waitMs: number, holder: LockHolder): CertrollError =>
  new CertrollError(
    `the lock ${name} was not had within ${formatDuration(waitMs)}; it is held by ${describeHolder(holder)}`,
    {
      code: 'lock.timeout',
      exit: EXIT.locked,
      hint: "See 'certroll lock show' for who holds it and who waits. The run can be started again at any time.",
    },
  );
