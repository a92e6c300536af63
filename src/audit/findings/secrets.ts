import { formatDuration } from '../../core/duration.js';
import type { TlsSecret } from '../../kube/tls-secrets.js';
import { kidOf } from '../../pem/keys.js';
import type { CertificateView } from '../../pem/x509.js';
import { kidOfCertificate, readFile } from '../content.js';
import type { ClusterFacts } from '../facts.js';
import type { Hit, Rule } from '../rule.js';

const subjectOf = ({ namespace, name }: TlsSecret): string => `Secret ${namespace}/${name}`;

interface Read {
  readonly secret: TlsSecret;
  readonly chain: readonly CertificateView[];
  readonly problems: readonly string[];
}

const secretsOf = ({ objects }: ClusterFacts): readonly Read[] =>
  (objects?.secrets ?? []).map((secret) => {
    const { certificates: chain, problems } = readFile({ kind: 'certificate', text: secret.pem });
    return { secret, chain, problems };
  });

/** The certificate of a chain that ends first: clients refuse the chain from then on. */
const firstToEnd = (chain: readonly CertificateView[]): CertificateView | undefined =>
  [...chain].sort((a, b) => a.notAfter.getTime() - b.notAfter.getTime())[0];

/** Some live for a day only: of those a quarter of their life is time enough. */
const timeToRenew = (
  { notBefore, notAfter }: CertificateView,
  { limits }: Pick<ClusterFacts, 'limits'>,
): number => Math.min(limits.renewBeforeMs, (notAfter.getTime() - notBefore.getTime()) / 4);

const at = (date: Date): string => date.toISOString().replace(/\.\d+Z$/, 'Z');

export const secretExpired: Rule = {
  id: 'tls-secret-expired',
  severity: 'warning',
  why: 'Whoever is served with it hangs up; if nothing serves it, it hides those that matter.',
  action: 'See why its controller (cert-manager) does not renew it, or delete it.',
  check: (facts) =>
    secretsOf(facts).flatMap(({ secret, chain }): readonly Hit[] => {
      const first = firstToEnd(chain);
      if (!first || first.notAfter >= facts.now) return [];
      const since = formatDuration(facts.now.getTime() - first.notAfter.getTime());
      const subject = subjectOf(secret);
      return [{ subject, text: `${subject}: ${first.subject} expired ${since} ago (${at(first.notAfter)})` }];
    }),
};

export const secretExpiring: Rule = {
  id: 'tls-secret-expiring',
  severity: 'warning',
  why: 'After that moment connections with it are refused; a controller would have renewed it by now.',
  action: 'See why its controller (cert-manager) does not renew it, or renew it by hand.',
  check: (facts) =>
    secretsOf(facts).flatMap(({ secret, chain }): readonly Hit[] => {
      const first = firstToEnd(chain);
      const left = first ? first.notAfter.getTime() - facts.now.getTime() : -1;
      if (!first || left < 0 || left >= timeToRenew(first, facts)) return [];
      const subject = subjectOf(secret);
      const when = `expires in ${formatDuration(left)} (${at(first.notAfter)})`;
      return [{ subject, text: `${subject}: ${first.subject} ${when}` }];
    }),
};

const whyBroken = ({ secret, chain, problems }: Read): readonly string[] => {
  const [leaf] = chain;
  if (!leaf) return problems.length > 0 ? problems : ['tls.crt holds no certificate'];
  if (secret.publicKeyPem === undefined) return [...problems, 'tls.key is no private key'];
  if (kidOf(secret.publicKeyPem) !== kidOfCertificate(leaf.pem))
    return [...problems, 'tls.key is not the key of tls.crt'];
  return problems;
};

export const secretBroken: Rule = {
  id: 'tls-secret-broken',
  severity: 'warning',
  why: 'Servers do not start with it, or go on with what they had before.',
  action: 'Have it issued anew.',
  check: (facts) =>
    secretsOf(facts).flatMap((read) => {
      const subject = subjectOf(read.secret);
      return whyBroken(read).map((why) => ({ subject, text: `${subject}: ${why}` }));
    }),
};
