import pLimit from 'p-limit';

/** Measured best for handshakes: more at once only make client and servers fight for the processor. */
const AT_ONCE = 16;

/**
 * Runs `work` on every item, a bounded number at once, and gives the results in the items' order.
 * All are run to their end; then the first failure (in the items' order) is thrown.
 */
export const fanOut = async <Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
  atOnce: number = AT_ONCE,
): Promise<Result[]> => {
  const limit = pLimit(atOnce);
  const outcomes = await Promise.allSettled(items.map((item) => limit(() => work(item))));
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
};
