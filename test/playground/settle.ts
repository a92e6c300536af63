/**
 * As Promise.all, but waits for all of them before it throws: what the others still start would not be seen by the one who
 * cleans up.
 */
export const settle = async <T>(tasks: readonly Promise<T>[]): Promise<readonly T[]> => {
  const ends = await Promise.allSettled(tasks);
  return ends.map((end) => {
    if (end.status === 'rejected') throw end.reason;
    return end.value;
  });
};
