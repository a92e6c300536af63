import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { z } from 'zod';
import type { Account, Keys } from './keys.js';

/** Shown wherever a user could take this for the real thing. */
export const STAND_IN = 'certroll-playground';

export interface Reply {
  readonly status: number;
  readonly body: unknown;
}

export interface State {
  readonly keys: Keys;
  /** False from SIGTERM on. */
  ready: boolean;
}

const json = (status: number, body: unknown): Reply => ({ status, body });
const failure = (code: number, message: string): Reply =>
  json(code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, message });

/** The same on all three apiservers, as if it came from their common etcd. */
const uidOf = ({ namespace, name }: Account): string => {
  const hex = createHash('sha256').update(`${namespace}/${name}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

type Caller =
  | { readonly kind: 'admin' }
  | { readonly kind: 'user'; readonly name: string }
  | { readonly kind: 'anonymous' };

/** A client certificate of the cluster's CA with O=system:masters may do everything; a token shows who it is of. */
const callerOf = async (request: IncomingMessage, keys: Keys): Promise<Caller> => {
  const { socket } = request;
  const organization =
    socket instanceof TLSSocket && socket.authorized ? [socket.getPeerCertificate().subject.O].flat() : [];
  if (organization.includes('system:masters')) return { kind: 'admin' };
  const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
  if (token === undefined) return { kind: 'anonymous' };
  return { kind: 'user', name: await keys.verify(token) };
};

const ACCOUNT = /^\/api\/v1\/namespaces\/([a-z0-9-]+)\/serviceaccounts\/([a-z0-9-]+)(\/token)?$/;
const tokenRequest = z.object({
  spec: z.object({ expirationSeconds: z.number().int().min(600).default(3600) }).prefault({}),
});
const tokenReview = z.object({ spec: z.object({ token: z.string() }) });

const account = async (keys: Keys, who: Account, wantsToken: boolean, body: unknown): Promise<Reply> => {
  const uid = uidOf(who);
  if (!wantsToken) return json(200, { kind: 'ServiceAccount', apiVersion: 'v1', metadata: { ...who, uid } });
  const { expirationSeconds } = tokenRequest.parse(body).spec;
  const token = await keys.mint(who, uid, expirationSeconds);
  return json(201, { kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1', status: { token } });
};

const review = async (keys: Keys, body: unknown): Promise<Reply> => {
  const { token } = tokenReview.parse(body).spec;
  const status = await keys.verify(token).then(
    (username) => ({ authenticated: true, user: { username } }),
    (error: unknown) => ({
      authenticated: false,
      error: error instanceof Error ? error.message : 'invalid bearer token',
    }),
  );
  return json(201, { kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1', status });
};

/** What needs no credentials. */
const openRoute = (path: string, state: State): Reply | undefined => {
  if (path === '/livez' || path === '/healthz') return json(200, 'ok');
  if (path === '/readyz')
    return state.ready
      ? json(200, '[+]ping ok\nreadyz check passed\n')
      : json(503, '[-]shutdown failed: process is shutting down\n');
  if (path === '/version') return json(200, { major: '1', minor: '34', gitVersion: `v1.34.0-${STAND_IN}` });
  return undefined;
};

/** Answers one request. */
export const route = async (request: IncomingMessage, body: unknown, state: State): Promise<Reply> => {
  const path = new URL(request.url ?? '/', 'https://localhost').pathname;
  const open = openRoute(path, state);
  if (open) return open;
  const caller = await callerOf(request, state.keys).catch(() => undefined);
  if (!caller) return failure(401, 'Unauthorized');
  if (caller.kind === 'anonymous') return failure(403, 'forbidden: User "system:anonymous" cannot do this');
  if (path === '/openid/v1/jwks') return json(200, await state.keys.jwks());
  if (path === '/.well-known/openid-configuration') {
    return json(200, { issuer: state.keys.issuer, jwks_uri: `${state.keys.issuer}/openid/v1/jwks` });
  }
  if (path === '/api/v1/namespaces') return json(200, { kind: 'NamespaceList', apiVersion: 'v1', items: [] });
  if (caller.kind !== 'admin') return failure(403, `forbidden: User "${caller.name}" cannot do this`);
  const [, namespace, name, token] = ACCOUNT.exec(path) ?? [];
  if (namespace !== undefined && name !== undefined)
    return account(state.keys, { namespace, name }, token !== undefined, body);
  if (path === '/apis/authentication.k8s.io/v1/tokenreviews') return review(state.keys, body);
  return failure(404, `${path} is not known to this stand-in`);
};
