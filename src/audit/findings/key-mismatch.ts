import { kidOfCertificate } from '../content.js';
import type { Item } from '../inventory.js';
import type { Rule } from '../rule.js';

/** The key that is not that of this certificate; undefined when the two are a pair, or nobody can tell. */
export const strangeKeyOf = (item: Item, items: readonly Item[]): Item | undefined => {
  const [leaf] = item.certificates;
  const key = items.find(
    ({ host, pid, kind, at, path }) =>
      host === item.host &&
      pid === item.pid &&
      kind === 'key' &&
      (at === item.keyAt || `${at}#${path.split('#')[1] ?? ''}` === item.keyAt),
  );
  const [kid] = key?.kids ?? [];
  return leaf && kid !== undefined && kid !== kidOfCertificate(leaf.pem) ? key : undefined;
};

export const keyMismatch: Rule = {
  id: 'key-mismatch',
  severity: 'critical',
  why: 'The pair cannot be loaded: a reload keeps the old one, a start fails.',
  action: 'Put the certificate and the key of one pair there.',
  check: (facts) =>
    facts.hosts.flatMap(({ name, items }) =>
      items.flatMap((item) => {
        const key = strangeKeyOf(item, items);
        if (!key) return [];
        const text = `the ${item.role} (${item.named}) is not the certificate of the key in ${key.path}`;
        return [{ host: name, component: item.component, subject: item.path, text }];
      }),
    ),
};
