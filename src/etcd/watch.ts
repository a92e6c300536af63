import type { Members } from './members.js';

/**
 * Waits until a key is deleted, from a revision on (so nothing between a read and this is missed). True when etcd said
 * so; false when the watch ended before, or the signal was aborted. Never throws: a watch is only a reason to look.
 */
export const deletionOf = async (
  members: Members,
  key: string,
  fromRevision: bigint,
  signal: AbortSignal,
): Promise<boolean> => {
  if (signal.aborted) return false;
  let stop = (): void => undefined;
  const ended = new Promise<boolean>((resolve) => {
    stop = () => resolve(false);
    signal.addEventListener('abort', stop);
  });
  try {
    const stream = await Promise.race([members.client.watchClient.watch({}), ended]);
    if (typeof stream === 'boolean') return false;
    const deleted = new Promise<boolean>((resolve) => {
      stream.on('data', ({ events, canceled }) => {
        // Checked here, not by a filter of etcd's: those are easily got the wrong way round.
        if (events.some(({ type }) => type === 'Delete')) resolve(true);
        else if (canceled) resolve(false);
      });
      stream.on('error', () => resolve(false));
      stream.on('end', () => resolve(false));
      stream.write({ create_request: { key: Buffer.from(key), start_revision: fromRevision.toString() } });
    });
    try {
      return await Promise.race([deleted, ended]);
    } finally {
      // Ended before cancelled, or etcd3 takes the cancellation for a fault of the member.
      stream.end();
      stream.cancel();
    }
  } catch {
    return false;
  } finally {
    signal.removeEventListener('abort', stop);
  }
};
