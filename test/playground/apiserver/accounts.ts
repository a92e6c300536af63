import { createHash, randomUUID } from 'node:crypto';
import type { JWTPayload } from 'jose';

/** A service account. */
export interface Account {
  readonly namespace: string;
  readonly name: string;
}

/** The accounts that every cluster has; there are no others. */
export const exists = ({ namespace, name }: Account): boolean =>
  name === 'default' && ['default', 'kube-node-lease', 'kube-public', 'kube-system'].includes(namespace);

export const userNameOf = ({ namespace, name }: Account): string =>
  `system:serviceaccount:${namespace}:${name}`;

/** The same on all three apiservers, as if it came from the etcd that they share. */
export const uidOf = ({ namespace, name }: Account): string => {
  const hex = createHash('sha256').update(`${namespace}/${name}`).digest('hex');
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
};

export interface TokenWish {
  readonly issuers: readonly string[];
  readonly audiences: readonly string[];
  readonly ttlSeconds: number;
}

/** The claims of a token as TokenRequest writes them. */
export const claimsOf = (account: Account, { issuers, audiences, ttlSeconds }: TokenWish): JWTPayload => {
  const now = Math.floor(Date.now() / 1000);
  const { namespace, name } = account;
  return {
    aud: audiences.length > 0 ? [...audiences] : [...issuers],
    exp: now + ttlSeconds,
    iat: now,
    iss: issuers[0] ?? '',
    jti: randomUUID(),
    'kubernetes.io': { namespace, serviceaccount: { name, uid: uidOf(account) } },
    nbf: now,
    sub: userNameOf(account),
  };
};

/** What kube-apiserver allows clocks to differ. */
const LEEWAY_SECONDS = 60;

const checkDates = ({ exp, nbf, iat }: JWTPayload): void => {
  const now = Date.now() / 1000;
  if (exp !== undefined && now > exp + LEEWAY_SECONDS) throw new Error('service account token has expired');
  if (nbf !== undefined && now < nbf - LEEWAY_SECONDS)
    throw new Error('service account token is not valid yet');
  if (iat !== undefined && now < iat - LEEWAY_SECONDS)
    throw new Error('service account token is issued in the future');
};

/**
 * The account of a token whose signature is good. Throws for claims that are not, with kube-apiserver's words. As there,
 * a token without an audience is for the apiserver, and the subject is not looked at.
 */
export const accountOf = (claims: JWTPayload, audiences: readonly string[]): Account => {
  const own = [claims.aud ?? [...audiences]].flat();
  if (!own.some((audience) => audiences.includes(audience))) {
    throw new Error(
      `token audiences ${JSON.stringify(own)} is invalid for the target audiences ${JSON.stringify(audiences)}`,
    );
  }
  checkDates(claims);
  const bound = claims['kubernetes.io'] as
    { namespace?: string; serviceaccount?: { name?: string; uid?: string } } | undefined;
  const account = { namespace: bound?.namespace ?? '', name: bound?.serviceaccount?.name ?? '' };
  const uid = bound?.serviceaccount?.uid ?? '';
  if (!exists(account)) throw new Error(`serviceaccounts "${account.name}" not found`);
  if (uid !== uidOf(account))
    throw new Error(`service account UID (${uidOf(account)}) does not match claim (${uid})`);
  return account;
};
