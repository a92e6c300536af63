import { CertrollError, EXIT } from '../core/errors.js';
import { formatDuration } from '../core/duration.js';

/** What a leaf's life is cut to lies this long before the end of its CA. */
export const CA_MARGIN_MS = 3_600_000;
/** How far back a leaf's life starts, for verifiers whose clock is behind. */
export const BACKDATE_MS = 300_000;

export interface CaLife {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

export interface LeafLife extends CaLife {
  /** The wished-for life did not fit into the CA's. */
  readonly capped: boolean;
}

interface LifeWish {
  readonly ca: CaLife;
  readonly now: Date;
  readonly ttlMs: number;
  readonly renewWindowMs: number;
}

/**
 * Refuses a CA that can sign nothing useful now: `issuer.ca-expired`, `issuer.ca-not-yet-valid`, `issuer.ca-too-short`.
 * A leaf that is due for renewal as soon as it is issued would be renewed by every run.
 */
export const checkCaLife = ({ ca, now, renewWindowMs }: Omit<LifeWish, 'ttlMs'>, name: string): void => {
  if (now >= ca.notAfter)
    throw refused('issuer.ca-expired', `the CA of ${name} expired at ${ca.notAfter.toISOString()}`);
  if (now < ca.notBefore) {
    throw new CertrollError(
      `the CA of ${name} is not valid before ${ca.notBefore.toISOString()}, and it is ${now.toISOString()} here`,
      {
        code: 'issuer.ca-not-yet-valid',
        exit: EXIT.refused,
        hint: 'See that the clock of this machine is right.',
      },
    );
  }
  const left = ca.notAfter.getTime() - CA_MARGIN_MS - now.getTime();
  if (left <= renewWindowMs) {
    throw refused(
      'issuer.ca-too-short',
      `the CA of ${name} ends at ${ca.notAfter.toISOString()}; what it signs now would be due for renewal at once (thresholds.renewBefore ${formatDuration(renewWindowMs)})`,
    );
  }
};

/** The life of a new leaf, by whole seconds: the wished-for one, within that of its CA. Throws as `checkCaLife` does. */
export const planLeafLife = (wish: LifeWish, name: string): LeafLife => {
  checkCaLife(wish, name);
  const { ca, now, ttlMs, renewWindowMs } = wish;
  if (ttlMs <= renewWindowMs) {
    throw new CertrollError(
      `a life of ${formatDuration(ttlMs)} is not longer than the time before the end in which certificates are renewed (${formatDuration(renewWindowMs)})`,
      {
        code: 'issuer.ttl-too-short',
        exit: EXIT.usage,
        hint: 'See serviceAccounts.ttl and thresholds.renewBefore in the cluster file.',
      },
    );
  }
  const wished = now.getTime() + ttlMs;
  const latest = ca.notAfter.getTime() - CA_MARGIN_MS;
  return {
    notBefore: wholeSecond(Math.max(now.getTime() - BACKDATE_MS, ca.notBefore.getTime())),
    notAfter: wholeSecond(Math.min(wished, latest)),
    capped: wished > latest,
  };
};

const wholeSecond = (ms: number): Date => new Date(Math.floor(ms / 1000) * 1000);

const refused = (code: string, message: string): CertrollError =>
  new CertrollError(message, {
    code,
    exit: EXIT.refused,
    hint: 'Renew or replace the CA first (the cookbook rotate-ca does, where it is a CA of the cluster).',
  });
