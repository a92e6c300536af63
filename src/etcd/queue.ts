/** A key under the lock's prefix, as etcd has it. */
export interface QueuedKey {
  readonly key: string;
  readonly createRevision: bigint;
  readonly value: string;
  /** Decimal; '0' when the key is attached to no lease. */
  readonly lease: string;
}

export interface OwnKey {
  readonly key: string;
  readonly createRevision: bigint;
}

export type Position =
  | { readonly state: 'holder' }
  /** `before` is the key just before the own one: when it goes, and only then, it is worth looking again. */
  | { readonly state: 'waiting'; readonly holder: QueuedKey; readonly before: QueuedKey }
  /** The own key is not there any more, or another one has its name. */
  | { readonly state: 'gone' };

/** The key under which a lease takes part: NAME/<lease id in lower-case hex>, what `etcdctl lock NAME` writes. */
export const lockKey = (name: string, leaseId: string): string =>
  lockPrefix(name) + BigInt(leaseId).toString(16);

export const lockPrefix = (name: string): string => `${name}/`;

/** The keys of a lock, its holder first: etcd's own mutex belongs to the key with the lowest create revision. */
export const inOrder = (keys: readonly QueuedKey[]): readonly QueuedKey[] =>
  [...keys].sort(
    (a, b) => Number(a.createRevision > b.createRevision) - Number(a.createRevision < b.createRevision),
  );

/** Where the own key stands among the keys of the lock. */
export const positionOf = (keys: readonly QueuedKey[], own: OwnKey): Position => {
  const queue = inOrder(keys);
  const at = queue.findIndex((found) => found.key === own.key && found.createRevision === own.createRevision);
  const [holder] = queue;
  if (at < 0 || !holder) return { state: 'gone' };
  const before = queue[at - 1];
  return before ? { state: 'waiting', holder, before } : { state: 'holder' };
};
