import type { Etcd3 } from 'etcd3';

/** The part of etcd3's insides that is replaced; its version is pinned. */
interface Insides {
  readonly pool: { readonly authenticator: { getCredentialsFromHost: () => Promise<string> } };
}

/**
 * Has a client get its tokens from `logIn`. etcd3 itself logs in over a channel of its own that it never closes, gives
 * no deadline, and denies the channel options: with `serverName` no login would pass TLS.
 */
export const logInThrough = (client: Etcd3, logIn: () => Promise<string>): void => {
  const { authenticator } = (client as unknown as Insides).pool;
  if (typeof authenticator.getCredentialsFromHost !== 'function')
    throw new Error('this etcd3 logs in in another way than 1.1.2 does');
  authenticator.getCredentialsFromHost = logIn;
};
