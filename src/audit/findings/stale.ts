import { itemsOf } from '../facts.js';
import type { Item } from '../inventory.js';
import type { Rule } from '../rule.js';

const text = ({ loaded, served, role, named, certificates }: Item): string => {
  if (loaded.how !== 'served')
    return `the ${role} (${named}) changed after its process had started, and is read only at a start`;
  const serials = `serial ${served?.certificates[0]?.serial ?? '?'}, on disk ${certificates[0]?.serial ?? 'none'}`;
  return `${served?.address ?? ''} serves another ${role} than lies on disk (${serials})`;
};

export const staleInMemory: Rule = {
  id: 'stale-in-memory',
  severity: 'warning',
  why: 'The process goes on with what it read before: what was renewed on disk has not taken effect, and a restart changes what it does.',
  action: 'Restart the process, one host at a time, once it is sure to start with the files as they are.',
  check: (facts) =>
    itemsOf(facts)
      .filter(({ kind, loaded }) => loaded.state === 'stale' && kind !== 'other' && kind !== 'kubeconfig')
      .map((item) => ({ host: item.host, component: item.component, subject: item.path, text: text(item) })),
};
