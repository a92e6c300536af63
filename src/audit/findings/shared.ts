import { groupBy } from '../../core/group.js';
import type { CertificateView } from '../../pem/x509.js';
import { kidOfCertificate } from '../content.js';
import { itemsOf, processOf, type ClusterFacts } from '../facts.js';
import type { Item } from '../inventory.js';
import { listed } from '../listed.js';
import { issuerOf } from '../matrix.js';
import type { Hit, Rule, Severity } from '../rule.js';

const leafs = (facts: ClusterFacts): readonly { readonly item: Item; readonly leaf: CertificateView }[] =>
  itemsOf(facts).flatMap((item) => {
    const [leaf] = item.kind === 'certificate' ? item.certificates : [];
    return leaf ? [{ item, leaf }] : [];
  });

const distinct = (list: readonly string[]): readonly string[] => [...new Set(list)];

export const serialTwice: Rule = {
  id: 'serial-on-two-hosts',
  severity: 'info',
  why: 'Whoever has the key of one host can pass for the other; and renewing one of them renews half.',
  action: 'Give each host a pair of its own.',
  check: (facts) =>
    groupBy(leafs(facts), ({ leaf }) => `${issuerOf(leaf)} ${leaf.serial}`).flatMap(
      (same): readonly Hit[] => {
        const hosts = distinct(same.map(({ item }) => item.host));
        const [first] = same;
        if (!first || hosts.length < 2) return [];
        const isOne = distinct(same.map(({ leaf }) => leaf.pem)).length === 1;
        const what = isOne
          ? 'the same certificate'
          : 'another certificate with the same serial of the same authority';
        const severity: Severity = isOne ? 'info' : 'critical';
        const text = `${what} (serial ${first.leaf.serial}) is on ${listed(hosts)}: ${first.item.path}`;
        return [{ component: first.item.component, subject: `serial ${first.leaf.serial}`, text, severity }];
      },
    ),
};

type Purpose = 'signs tokens' | 'signs certificates' | 'serves' | 'is a client';

const purposeOf = ({ kind, role }: Item): Purpose | undefined => {
  if (kind === 'signing-key') return 'signs tokens';
  if (kind === 'issuer') return 'signs certificates';
  if (kind !== 'certificate') return undefined;
  return role.includes('client') ? 'is a client' : 'serves';
};

export const sameKey: Rule = {
  id: 'same-key-in-two-roles',
  severity: 'warning',
  why: 'Renewing it for the one purpose takes effect in the other: a serving key that also signs tokens makes every token invalid with its renewal.',
  action: 'Give each purpose a key of its own; rotate the token keys first.',
  check: (facts) => {
    const uses = itemsOf(facts).flatMap((item) => {
      const purpose = purposeOf(item);
      const [leaf] = item.certificates;
      const kid = item.kind === 'signing-key' ? item.kids[0] : leaf && kidOfCertificate(leaf.pem);
      return purpose && kid !== undefined ? [{ item, purpose, kid }] : [];
    });
    return groupBy(uses, ({ kid }) => kid).flatMap((same) => {
      const purposes = distinct(same.map(({ purpose }) => purpose));
      const [first] = same;
      if (!first || purposes.length < 2) return [];
      const isGrave = purposes.some((each) => each.startsWith('signs'));
      const text = `one key ${purposes.join(' and ')}: ${listed(distinct(same.map(({ item }) => `${processOf(item)} ${item.named}`)))}`;
      const severity: Severity = isGrave ? 'warning' : 'info';
      return [
        {
          host: first.item.host,
          component: first.item.component,
          subject: `kid ${first.kid}`,
          text,
          severity,
        },
      ];
    });
  },
};

export const sameAuthority: Rule = {
  id: 'requestheader-ca-is-client-ca',
  severity: 'warning',
  why: 'Any client certificate of that authority can pass for the front proxy and claim to be any user, unless --requestheader-allowed-names keeps it out.',
  action:
    'Give the front proxy an authority of its own (kubernetes.io/docs/tasks/extend-kubernetes/configure-aggregation-layer).',
  check: (facts) =>
    facts.hosts.flatMap(({ name: host, items }) => {
      const of = (channel: string): readonly Item[] => items.filter(({ verifies }) => verifies === channel);
      return of('front-proxy').flatMap((proxy) => {
        const clients = of('apiserver-client').filter(({ pid }) => pid === proxy.pid);
        const shared = proxy.certificates.find((each) =>
          clients.some(({ certificates }) =>
            certificates.some(({ pem }) => kidOfCertificate(pem) === kidOfCertificate(each.pem)),
          ),
        );
        if (!shared) return [];
        const text = `${shared.subject} is an authority for clients and for the front proxy alike`;
        return [{ host, component: proxy.component, subject: proxy.path, text }];
      });
    }),
};
