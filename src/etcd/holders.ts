import { z } from 'zod';
import type { CallSettings, Members } from './members.js';
import { inOrder, lockPrefix, type QueuedKey } from './queue.js';
import { prefixEnd } from './range.js';
import type { HolderInfo, LockHolder } from './store.js';

const holderSchema = z.object({
  owner: z.string(),
  pid: z.number(),
  run: z.string(),
  reason: z.string(),
  since: z.string(),
});

/** What a holder wrote of itself; undefined for etcdctl, which writes nothing, and for what others may write. */
export const holderInfoOf = (value: string): HolderInfo | undefined => {
  try {
    return holderSchema.parse(JSON.parse(value));
  } catch {
    return undefined;
  }
};

/** A holder in words, for errors and progress. */
export const describeHolder = ({ key, info }: LockHolder): string =>
  info
    ? `${info.owner} (pid ${info.pid}, run ${info.run}, since ${info.since}: ${info.reason})`
    : `etcdctl or another tool that leaves no name (lease ${key.slice(key.lastIndexOf('/') + 1)})`;

/** The keys of a lock at one revision, read through a majority. */
export const readQueue = async (
  members: Members,
  name: string,
  settings?: CallSettings,
): Promise<{ readonly keys: readonly QueuedKey[]; readonly revision: bigint }> => {
  const prefix = lockPrefix(name);
  const answer = await members.call(
    `read the lock ${name}`,
    async (client, call) => client.kv.range({ key: Buffer.from(prefix), range_end: prefixEnd(prefix) }, call),
    settings,
  );
  const keys = answer.kvs.map((kv) => ({
    key: kv.key.toString(),
    createRevision: BigInt(kv.create_revision),
    value: kv.value.toString(),
    lease: kv.lease,
  }));
  return { keys, revision: BigInt(answer.header.revision) };
};

/** A key of the queue with what its lease still has. */
export const holderOf = async (members: Members, found: QueuedKey): Promise<LockHolder> => ({
  key: found.key,
  createRevision: found.createRevision.toString(),
  info: holderInfoOf(found.value),
  lease: found.lease === '0' ? undefined : await leaseOf(members, found.lease),
});

const leaseOf = async (members: Members, id: string): Promise<LockHolder['lease']> => {
  try {
    const lease = await members.call(
      'read a lease',
      async (client, call) => client.leaseClient.leaseTimeToLive({ ID: id, keys: false }, call),
      { brief: true },
    );
    const remaining = Number(lease.TTL);
    return remaining > 0 ? { remaining, granted: Number(lease.grantedTTL) } : undefined;
  } catch {
    // What is left of someone's lease is news, no more: not worth failing for.
    return undefined;
  }
};

/** Who holds the lock and who waits for it, oldest first. */
export const lockHolders = async (members: Members, name: string): Promise<readonly LockHolder[]> => {
  const { keys } = await readQueue(members, name);
  return Promise.all(inOrder(keys).map(async (key) => holderOf(members, key)));
};
