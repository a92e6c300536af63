import { kidOfCertificate } from '../content.js';
import type { Rule } from '../rule.js';

export const keyMismatch: Rule = {
  id: 'key-mismatch',
  severity: 'critical',
  why: 'The pair cannot be loaded: a reload keeps the old one, a start fails.',
  action: 'Put the certificate and the key of one pair there.',
  check: (facts) =>
    facts.hosts.flatMap(({ name, items }) =>
      items.flatMap((item) => {
        const [leaf] = item.certificates;
        const key = items.find(
          ({ pid, kind, at, path }) =>
            pid === item.pid &&
            kind === 'key' &&
            (at === item.keyAt || `${at}#${path.split('#')[1] ?? ''}` === item.keyAt),
        );
        const [kid] = key?.kids ?? [];
        if (!leaf || kid === undefined || kid === kidOfCertificate(leaf.pem)) return [];
        const text = `the ${item.role} (${item.named}) is not the certificate of the key in ${key?.path ?? ''}`;
        return [{ host: name, component: item.component, subject: item.path, text }];
      }),
    ),
};
