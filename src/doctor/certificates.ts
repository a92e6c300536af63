import { formatDuration } from '../core/duration.js';
import { failed, ok, warning, type Verdict } from './check.js';

/** The life of a certificate of the bastion's own. */
export interface CertificateLife {
  /** What it is and where it lies: `client certificate in ./kubeconfig`. */
  readonly what: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

export interface LifeLimits {
  readonly now: Date;
  /** Milliseconds before its end from which on a certificate is told of (thresholds.renewBefore). */
  readonly renewBeforeMs: number;
}

/** The worst of some certificates, or how long all of them last. `renew` says how one gets a new one. */
export const judgeLives = (
  lives: readonly CertificateLife[],
  { now, renewBeforeMs }: LifeLimits,
  renew: string,
): Verdict => {
  const left = ({ notAfter }: CertificateLife): number => notAfter.getTime() - now.getTime();
  const early = lives.find(({ notBefore }) => notBefore > now);
  if (early)
    return failed(
      `the ${early.what} is not valid before ${early.notBefore.toISOString()}, and it is ${now.toISOString()} here`,
      "See that this machine's clock is right (timedatectl); else have it issued anew.",
    );
  const [first] = [...lives].sort((one, other) => left(one) - left(other));
  if (!first) return ok('no certificate');
  if (left(first) <= 0) return failed(`the ${first.what} expired ${formatDuration(-left(first))} ago`, renew);
  if (left(first) < renewBeforeMs)
    return warning(`the ${first.what} expires in ${formatDuration(left(first))}`, renew);
  return ok(`${lives.length === 1 ? 'good' : 'all good'} for ${formatDuration(left(first))}`);
};
