/**
 * One kube-apiserver, always addressed by its own address (never through the load balancer), with the
 * server name that its certificate carries. Every call has a time limit. Errors: `kube.unreachable`, `kube.tls`,
 * `kube.credentials` (there are none that could be sent), `kube.unauthorized`, `kube.forbidden`, `kube.timeout`,
 * `kube.answer`, each naming the host and the URL.
 */
export interface ApiServer {
  readonly host: string;
  readonly url: string;
  /** The keys the running process verifies with: kid → SubjectPublicKeyInfo PEM. Its own /openid/v1/jwks. */
  jwks(): Promise<ReadonlyMap<string, string>>;
  /** GET /readyz?verbose; never throws for an answer that is not 200, nor for a refused connection. */
  readyz(): Promise<{ readonly ready: boolean; readonly detail: string }>;
  version(): Promise<string>;
  /** Mints a short-lived token (TokenRequest) and returns it; stored nowhere. */
  mintToken(serviceAccount: ServiceAccountRef, ttlSeconds: number): Promise<MintedToken>;
  /** TokenReview on this apiserver. */
  reviewToken(token: string): Promise<{ readonly authenticated: boolean; readonly error?: string }>;
  serviceAccountUid(serviceAccount: ServiceAccountRef): Promise<string>;
}

export interface ServiceAccountRef {
  readonly namespace: string;
  readonly name: string;
}

export interface MintedToken {
  readonly token: string;
  /** From the token's header. */
  readonly kid: string;
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly algorithm: string;
}
