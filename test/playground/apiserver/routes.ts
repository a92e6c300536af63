import { claimsOf, exists, uidOf, type Account } from './accounts.js';
import type { Keys } from './keys.js';
import { isAnonymous, isMaster, userOfToken, type User } from './users.js';

/** Shown wherever one could take this for the real thing. */
export const STAND_IN = 'certroll-playground';

/** An answer: a text, or an object that goes out as JSON. */
export interface Reply {
  readonly status: number;
  readonly body: string | object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The key list may be kept for an hour, as that of kube-apiserver. */
const CACHEABLE = { 'Cache-Control': 'public, max-age=3600' };

/** A request whose user is known. */
export interface Asked {
  readonly method: string;
  readonly url: URL;
  readonly user: User;
  readonly body: unknown;
}

/** What the answers depend on besides the request. */
export interface State {
  readonly keys: Keys;
  /** True from SIGTERM on. */
  stopping: boolean;
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  422: 'Invalid',
};

/** An error as the API gives it. */
export const failure = (code: number, message: string): Reply => ({
  status: code,
  body: {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason: REASONS[code],
    code,
  },
});

const health = (name: string, { stopping }: State, isVerbose: boolean): Reply => {
  const checks = ['[+]ping ok', '[+]log ok', ...(name === 'readyz' ? ['[+]shutdown ok'] : [])];
  if (name === 'readyz' && stopping) {
    return {
      status: 503,
      body: '[+]ping ok\n[+]log ok\n[-]shutdown failed: reason withheld\nreadyz check failed\n',
    };
  }
  return { status: 200, body: isVerbose ? `${checks.join('\n')}\n${name} check passed\n` : 'ok' };
};

/** What anybody may read. */
const publicRoute = ({ url }: Asked, state: State): Reply | undefined => {
  const name = url.pathname.slice(1);
  if (['healthz', 'livez', 'readyz'].includes(name))
    return health(name, state, url.searchParams.has('verbose'));
  if (name !== 'version') return undefined;
  const gitVersion = `v1.34.0-${STAND_IN}`;
  return {
    status: 200,
    body: { major: '1', minor: '34', gitVersion, platform: `stand-in, not kube-apiserver` },
  };
};

/** What any user of the cluster may read. The real one asks RBAC whether a service account may list namespaces. */
const userRoute = async ({ url }: Asked, { keys }: State): Promise<Reply | undefined> => {
  switch (url.pathname) {
    case '/openid/v1/jwks': {
      const headers = { ...CACHEABLE, 'Content-Type': 'application/jwk-set+json' };
      return { status: 200, headers, body: await keys.jwks() };
    }
    case '/.well-known/openid-configuration': {
      const { keys: list } = await keys.jwks();
      const body = {
        issuer: keys.issuers[0],
        jwks_uri: `${url.origin}/openid/v1/jwks`,
        response_types_supported: ['id_token'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: [...new Set(list.map(({ alg }) => alg))],
      };
      return { status: 200, headers: CACHEABLE, body };
    }
    case '/api/v1/namespaces':
      return { status: 200, body: { kind: 'NamespaceList', apiVersion: 'v1', metadata: {}, items: [] } };
    default:
      return undefined;
  }
};

const field = (body: unknown, name: string): unknown =>
  typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[name] : undefined;

const requestToken = async (account: Account, { body }: Asked, { keys }: State): Promise<Reply> => {
  const spec = field(body, 'spec');
  const ttlSeconds = field(spec, 'expirationSeconds') ?? 3600;
  const audiences = field(spec, 'audiences') ?? [];
  if (typeof ttlSeconds !== 'number' || !Array.isArray(audiences)) return failure(400, 'not a TokenRequest');
  if (ttlSeconds < 600)
    return failure(
      422,
      'spec.expirationSeconds: Invalid value: may not specify a duration less than 10 minutes',
    );
  const claims = claimsOf(account, { issuers: keys.issuers, audiences: audiences.map(String), ttlSeconds });
  const token = await keys.sign(claims);
  const expirationTimestamp = new Date((claims.exp ?? 0) * 1000).toISOString().replace('.000Z', 'Z');
  return {
    status: 201,
    body: {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: { ...account },
      spec: { audiences: claims.aud, expirationSeconds: ttlSeconds },
      status: { token, expirationTimestamp },
    },
  };
};

const reviewToken = async ({ body }: Asked, { keys }: State): Promise<Reply> => {
  const token = field(field(body, 'spec'), 'token');
  if (typeof token !== 'string') return failure(400, 'not a TokenReview');
  const status = await userOfToken(token, keys).then(
    (user) => ({ authenticated: true, user, audiences: keys.issuers }),
    (thrown: unknown) => ({
      user: {},
      error: `[invalid bearer token, ${thrown instanceof Error ? thrown.message : String(thrown)}]`,
    }),
  );
  return {
    status: 201,
    body: { kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1', metadata: {}, status },
  };
};

/** What the routes here allow, asked for ahead: everything to masters, the key list and health to any user. */
const reviewAccess = ({ user, body }: Asked): Reply => {
  const path = field(field(field(body, 'spec'), 'nonResourceAttributes'), 'path');
  const isOpen = typeof path === 'string' && /^\/(openid\/v1\/jwks|readyz|livez|healthz|version)$/.test(path);
  return {
    status: 201,
    body: {
      kind: 'SelfSubjectAccessReview',
      apiVersion: 'authorization.k8s.io/v1',
      metadata: {},
      status: { allowed: isMaster(user) || isOpen },
    },
  };
};

const ACCOUNT = /^\/api\/v1\/namespaces\/([a-z0-9-]+)\/serviceaccounts\/([a-z0-9.-]+)(\/token)?$/;

/** What needs O=system:masters. */
const masterRoute = async (asked: Asked, state: State): Promise<Reply> => {
  const { method, url } = asked;
  const [, namespace = '', name = '', token] = ACCOUNT.exec(url.pathname) ?? [];
  const account = { namespace, name };
  if (name !== '' && !exists(account)) return failure(404, `serviceaccounts "${name}" not found`);
  if (name !== '' && token !== undefined && method === 'POST') return requestToken(account, asked, state);
  if (name !== '' && token === undefined && method === 'GET') {
    return {
      status: 200,
      body: { kind: 'ServiceAccount', apiVersion: 'v1', metadata: { ...account, uid: uidOf(account) } },
    };
  }
  if (url.pathname === '/apis/authentication.k8s.io/v1/tokenreviews' && method === 'POST')
    return reviewToken(asked, state);
  return failure(404, `the stand-in for kube-apiserver knows no ${method} ${url.pathname}`);
};

/** Answers one request. */
export const route = async (asked: Asked, state: State): Promise<Reply> => {
  const { user, method, url } = asked;
  if (method === 'GET') {
    const open = publicRoute(asked, state);
    if (open) return open;
  }
  const forbidden = failure(
    403,
    `forbidden: User "${user.username}" cannot ${method.toLowerCase()} path "${url.pathname}"`,
  );
  if (isAnonymous(user)) return forbidden;
  if (method === 'GET') {
    const found = await userRoute(asked, state);
    if (found) return found;
  }
  // Everybody who logs in may ask what he may do (ClusterRole system:basic-user).
  if (method === 'POST' && url.pathname === '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews')
    return reviewAccess(asked);
  return isMaster(user) ? masterRoute(asked, state) : forbidden;
};
