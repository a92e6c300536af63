/** A key of the lock's prefix, as etcd has it. */
export interface QueuedKey {
  readonly key: string;
  readonly createRevision: bigint;
  readonly value: string;
  readonly lease: string;
}

/** Keys of a lock, holder first. The owner is the key with the lowest create revision, as in etcd's own mutex (client/v3/concurrency). */
export const inOrder = (keys: readonly QueuedKey[]): readonly QueuedKey[] =>
  [...keys].sort((a, b) => (a.createRevision < b.createRevision ? -1 : 1));

export type Position =
  | { readonly state: 'holder' }
  | { readonly state: 'waiting'; readonly holder: QueuedKey }
  /** The own key is not there any more, or another one has its name. */
  | { readonly state: 'gone' };

/** Where the own key stands among the keys of the lock. */
export const positionOf = (
  keys: readonly QueuedKey[],
  own: { readonly key: string; readonly createRevision: bigint },
): Position => {
  const mine = keys.find((found) => found.key === own.key && found.createRevision === own.createRevision);
  const [first] = inOrder(keys);
  if (!mine || !first) return { state: 'gone' };
  return first === mine ? { state: 'holder' } : { state: 'waiting', holder: first };
};

/** The key under which a lease takes part: NAME/<lease id in lower-case hex>, what `etcdctl lock NAME` writes. */
export const lockKey = (name: string, leaseId: string): string => `${name}/${BigInt(leaseId).toString(16)}`;
