import { formatDuration } from '../../core/duration.js';
import type { CertificateView } from '../../pem/x509.js';
import { itemsOf, type ClusterFacts } from '../facts.js';
import type { Item } from '../inventory.js';
import type { Hit, Rule } from '../rule.js';

interface Dated {
  readonly item: Item;
  readonly certificate: CertificateView;
  readonly place: 'on disk' | 'served';
}

/** Certificates on disk and those that are served in their stead. Of a bundle, every authority. */
const dated = (facts: ClusterFacts): readonly Dated[] =>
  itemsOf(facts).flatMap((item) => {
    const [leaf] = item.served?.certificates ?? [];
    const isOther = leaf && item.loaded.state === 'stale';
    return [
      ...item.certificates.map((certificate) => ({ item, certificate, place: 'on disk' as const })),
      ...(isOther ? [{ item, certificate: leaf, place: 'served' as const }] : []),
    ];
  });

/** An authority beside others in its bundle: the rest go on without it. */
const isSpare = ({ item, certificate }: Dated, now: Date): boolean =>
  item.kind === 'authorities' &&
  item.certificates.some((each) => each !== certificate && each.notAfter > now);

const hit = ({ item, certificate, place }: Dated, text: string): Hit => ({
  host: item.host,
  component: item.component,
  subject: `${item.path}${place === 'served' ? ' (served)' : ''}${item.certificates.length > 1 ? ` ${certificate.subject}` : ''}`,
  text: `the ${item.role} ${place === 'served' ? `served at ${item.served?.address ?? ''}` : `${item.path} (${item.named})`} ${item.certificates.length > 1 ? `(${certificate.subject}) ` : ''}${text}`,
});

const at = (date: Date): string => date.toISOString().replace(/\.\d+Z$/, 'Z');

export const expired: Rule = {
  id: 'certificate-expired',
  severity: 'critical',
  why: 'Whoever checks it refuses the connection, now or with the next one.',
  action: 'Renew it, then make its process load the new one.',
  check: (facts) =>
    dated(facts)
      .filter(({ certificate }) => certificate.notAfter < facts.now)
      .map((each) => ({
        ...hit(
          each,
          `expired ${formatDuration(facts.now.getTime() - each.certificate.notAfter.getTime())} ago (${at(each.certificate.notAfter)})`,
        ),
        ...(isSpare(each, facts.now) && { severity: 'info' as const }),
      })),
};

/** Milliseconds: nobody who is told now may wait for the next working day. */
const URGENT_MS = 3 * 86_400_000;

/** Of what lives for days only, a quarter of its life is time enough. */
const isUrgent = ({ notBefore, notAfter }: CertificateView, now: Date): boolean =>
  notAfter.getTime() - now.getTime() < Math.min(URGENT_MS, (notAfter.getTime() - notBefore.getTime()) / 4);

export const expiring: Rule = {
  id: 'certificate-expiring',
  severity: 'warning',
  why: 'After that moment connections with it are refused.',
  action: 'Renew it while there is time; thresholds.renewBefore of the cluster file says when it is due.',
  check: (facts) =>
    dated(facts)
      .filter(({ certificate: { notAfter } }) => {
        const left = notAfter.getTime() - facts.now.getTime();
        return left >= 0 && left < facts.limits.renewBeforeMs;
      })
      .map((each) => ({
        ...hit(
          each,
          `expires in ${formatDuration(each.certificate.notAfter.getTime() - facts.now.getTime())} (${at(each.certificate.notAfter)})`,
        ),
        ...(isUrgent(each.certificate, facts.now) && { severity: 'critical' as const }),
        ...(isSpare(each, facts.now) && { severity: 'info' as const }),
      })),
};

export const notYetValid: Rule = {
  id: 'certificate-not-yet-valid',
  severity: 'critical',
  why: 'Until then it is refused as if it had expired.',
  action: "Wait until then before it is loaded, and compare the clock of whoever issued it with this host's.",
  check: (facts) =>
    dated(facts)
      .filter(({ certificate }) => certificate.notBefore > facts.now)
      .map((each) => hit(each, `is valid only from ${at(each.certificate.notBefore)}`)),
};
