import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { accountOf, uidOf, userNameOf } from './accounts.js';
import type { Keys } from './keys.js';

/** Who asks, as a TokenReview shows it. */
export interface User {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

const ANONYMOUS: User = { username: 'system:anonymous', groups: ['system:unauthenticated'] };

/** The user of a bearer token. Throws when no key of this process accepts it. */
export const userOfToken = async (token: string, keys: Keys): Promise<User> => {
  const claims = await keys.verify(token);
  const account = accountOf(claims, keys.issuers);
  return {
    username: userNameOf(account),
    uid: uidOf(account),
    groups: ['system:serviceaccounts', `system:serviceaccounts:${account.namespace}`, 'system:authenticated'],
    extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${claims.jti ?? ''}`] },
  };
};

/** The user of a request. Throws when it has credentials that are not good, also where none are needed. */
export const userOf = async (request: IncomingMessage, keys: Keys): Promise<User> => {
  const { socket } = request;
  if (!(socket instanceof TLSSocket)) throw new Error('not TLS');
  // The declared type leaves out that it is empty without a certificate.
  const subject = socket.getPeerCertificate().subject as { CN?: string; O?: string | string[] } | undefined;
  if (subject !== undefined) {
    if (!socket.authorized)
      throw new Error(`the client certificate is not good: ${String(socket.authorizationError)}`);
    return { username: subject.CN ?? '', groups: [...[subject.O ?? []].flat(), 'system:authenticated'] };
  }
  const token = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
  return token === undefined ? ANONYMOUS : userOfToken(token, keys);
};

export const isMaster = (user: User): boolean => user.groups.includes('system:masters');
export const isAnonymous = (user: User): boolean => user === ANONYMOUS;
