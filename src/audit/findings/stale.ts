import type { Item } from '../inventory.js';
import type { Rule } from '../rule.js';
import { strangeKeyOf } from './key-mismatch.js';

const text = ({ loaded, served, role, path, named, certificates }: Item): string => {
  if (loaded.how !== 'served')
    return `the ${role} ${path} (${named}) changed after its process had started, and is read only at a start`;
  const serials = `serial ${served?.certificates[0]?.serial ?? '?'}, on disk ${certificates[0]?.serial ?? 'none'}`;
  return `${served?.address ?? ''} serves another ${role} than lies on disk (${serials})`;
};

/** What cannot be loaded is told of for that reason, and a restart would be the wrong advice. */
const isLoadable = (item: Item, items: readonly Item[]): boolean =>
  item.kind !== 'other' &&
  item.kind !== 'kubeconfig' &&
  item.loads !== false &&
  strangeKeyOf(item, items) === undefined;

export const staleInMemory: Rule = {
  id: 'stale-in-memory',
  severity: 'warning',
  why: 'The process goes on with what it read before: what was renewed on disk has not taken effect, and a restart changes what it does.',
  action: 'Restart the process, one host at a time, once it is sure to start with the files as they are.',
  check: (facts) =>
    facts.hosts.flatMap(({ items }) =>
      items
        .filter((item) => item.loaded.state === 'stale' && isLoadable(item, items))
        .map((item) => ({
          host: item.host,
          component: item.component,
          subject: item.path,
          text: text(item),
        })),
    ),
};
