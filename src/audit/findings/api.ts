import { formatDuration } from '../../core/duration.js';
import { groupBy } from '../../core/group.js';
import type { BundleObject } from '../../kube/trust-objects.js';
import { readFile } from '../content.js';
import { itemsOf, type ClusterFacts } from '../facts.js';
import type { Channel } from '../consumers.js';
import type { Hit, Rule } from '../rule.js';
import { isTrusted } from '../verify.js';

/** `kube-root-ca.crt` is in every namespace: those that hold the same are one. */
export interface Bundle {
  readonly first: BundleObject;
  readonly subject: string;
}

const nameOf = ({ kind, namespace, name, part }: BundleObject): string =>
  `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name} (${part})`;

export const bundlesOf = ({ objects }: ClusterFacts): readonly Bundle[] =>
  groupBy(objects?.bundles ?? [], ({ kind, name, part, pem }) =>
    [kind, name, part, kind === 'ConfigMap' ? pem : ''].join('\0'),
  ).flatMap((same) => {
    const [first] = same;
    if (!first) return [];
    const more = same.length > 1 ? ` and in ${same.length - 1} more namespaces` : '';
    return [{ first, subject: nameOf(first) + more }];
  });

/** The authorities of a bundle, as kube-apiserver reads them. */
export const read = ({ first: { pem } }: Bundle) =>
  readFile({ kind: 'authorities', parser: 'kube-ca', text: pem });

export const bundleBroken: Rule = {
  id: 'api-bundle-broken',
  severity: 'warning',
  why: 'Whoever is to be verified by it is refused, or a part of it counts for nothing.',
  action:
    'Write the bundle anew; where a controller writes it (cert-manager, kube-controller-manager), see why it does not.',
  check: (facts) =>
    bundlesOf(facts).flatMap((bundle): readonly Hit[] => {
      const { certificates, problems } = read(bundle);
      const over = certificates.length > 0 && certificates.every(({ notAfter }) => notAfter < facts.now);
      return [
        ...problems.map((text) => ({ subject: bundle.subject, text: `${bundle.subject}: ${text}` })),
        ...(over
          ? [
              {
                subject: bundle.subject,
                text: `${bundle.subject}: every authority in it has expired`,
                severity: 'critical' as const,
              },
            ]
          : []),
      ];
    }),
};

export const bundleExpiring: Rule = {
  id: 'api-bundle-expiring',
  severity: 'warning',
  why: 'After that moment whoever is to be verified by it is refused.',
  action:
    'Put the next authority beside it; where a controller writes the bundle (cert-manager), see why it does not.',
  check: (facts) =>
    bundlesOf(facts).flatMap((bundle): readonly Hit[] => {
      const last = Math.max(...read(bundle).certificates.map(({ notAfter }) => notAfter.getTime()));
      const left = last - facts.now.getTime();
      if (!(left >= 0 && left < facts.limits.renewBeforeMs)) return [];
      const text = `${bundle.subject}: its last authority expires in ${formatDuration(left)}`;
      return [{ subject: bundle.subject, text }];
    }),
};

/** Which objects must vouch for what is shown on a channel. */
const VERIFIERS: readonly { readonly name: string; readonly part: string; readonly channel: Channel }[] = [
  { name: 'kube-root-ca.crt', part: 'data.ca.crt', channel: 'apiserver-serving' },
  { name: 'cluster-info', part: 'data.kubeconfig', channel: 'apiserver-serving' },
  {
    ...{ name: 'extension-apiserver-authentication', part: 'data.requestheader-client-ca-file' },
    channel: 'front-proxy',
  },
];

export const bundleLags: Rule = {
  id: 'api-bundle-lags',
  severity: 'critical',
  why: 'Pods, joining nodes or aggregated servers go by this object, and refuse what that control plane shows them.',
  action:
    'Put the authority that issued it beside the old one in the object (kube-controller-manager writes kube-root-ca.crt from --root-ca-file, kube-apiserver writes extension-apiserver-authentication).',
  check: (facts) =>
    bundlesOf(facts).flatMap((bundle) => {
      const { name, part } = bundle.first;
      const verifier = VERIFIERS.find((each) => each.name === name && each.part === part);
      if (!verifier) return [];
      const { certificates: roots } = read(bundle);
      return itemsOf(facts).flatMap((item): readonly Hit[] => {
        if (item.presents !== verifier.channel || item.certificates.length === 0) return [];
        const shown =
          item.served && item.served.certificates.length > 0 ? item.served.certificates : item.certificates;
        if (isTrusted(shown, roots)) return [];
        const text = `no authority in ${bundle.subject} vouches for its ${item.role} (${item.path})`;
        return [{ host: item.host, component: item.component, subject: bundle.subject, text }];
      });
    }),
};

/** A request that nobody has decided on for so long is forgotten: kubelets wait for minutes. */
const PENDING_MS = 3_600_000;

export const requestsPending: Rule = {
  id: 'csr-pending',
  severity: 'warning',
  why: 'Whoever made it waits for its certificate; a kubelet goes on with the old one until that expires.',
  action: 'kubectl get csr, then kubectl certificate approve or deny.',
  check: ({ objects, now }) =>
    (objects?.pending ?? []).flatMap(({ name, signer, createdAt }) => {
      const age = now.getTime() - createdAt.getTime();
      if (age < PENDING_MS) return [];
      return [
        { subject: `csr ${name}`, text: `${name} for ${signer} has waited for ${formatDuration(age)}` },
      ];
    }),
};

export const objectsUnread: Rule = {
  id: 'api-not-read',
  severity: 'warning',
  why: 'Nothing is known of these objects: this audit is not complete.',
  action:
    'Where it is forbidden, give the user of the kubeconfig a ClusterRole that may list them; else see what is wrong with that apiserver.',
  check: ({ objects }) =>
    (objects?.unread ?? []).map(({ what, why, isForbidden }) => ({
      ...{ subject: what, text: `cannot list ${what}: ${why}` },
      // Some give an audit no more rights than it needs for the rest: that is their choice.
      ...(isForbidden && { severity: 'info' as const }),
    })),
};
