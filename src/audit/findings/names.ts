import { isIP } from 'node:net';
import type { Rule } from '../rule.js';

export const nameMissing: Rule = {
  id: 'san-missing',
  severity: 'warning',
  why: 'Whoever comes by that address finds a certificate for another and hangs up.',
  action: 'Issue it anew with that address among its subject alternative names.',
  check: (facts) =>
    facts.hosts.flatMap(({ name: host, processes, items }) =>
      processes.flatMap(({ component, pid, advertised }) =>
        advertised.flatMap(({ role, name, named }) => {
          const item = items.find((each) => each.pid === pid && each.role === role);
          const [leaf] = item?.certificates ?? [];
          if (!item || !leaf) return [];
          const found = isIP(name) === 0 ? leaf.node.checkHost(name) : leaf.node.checkIP(name);
          if (found !== undefined) return [];
          const text = `the ${role} (${item.named}) does not name ${name}, which it is reached at (${named})`;
          return [{ host, component, subject: `${item.path} ${name}`, text }];
        }),
      ),
    ),
};
