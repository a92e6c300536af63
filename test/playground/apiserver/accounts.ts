import { createHash, randomUUID } from 'node:crypto';
import type { JWTPayload } from 'jose';

/** A service account. In the playground each one exists. */
export interface Account {
  readonly namespace: string;
  readonly name: string;
}

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

/** The account of a token whose signature is good. Throws when its claims do not fit together. */
export const accountOf = (claims: JWTPayload): Account => {
  const bound = claims['kubernetes.io'] as
    { namespace?: string; serviceaccount?: { name?: string; uid?: string } } | undefined;
  const account = { namespace: bound?.namespace ?? '', name: bound?.serviceaccount?.name ?? '' };
  if (claims.sub !== userNameOf(account))
    throw new Error('its subject is not the service account that it names');
  if (bound?.serviceaccount?.uid !== uidOf(account))
    throw new Error('its service account was deleted and made again: the uid is another one');
  return account;
};
