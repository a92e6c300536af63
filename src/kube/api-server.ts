import type { Secret } from '../core/secret.js';

/**
 * One kube-apiserver, always addressed by its own address (never through the load balancer), with the
 * server name that its certificate carries. Every call has a time limit. Errors: `kube.unreachable`, `kube.tls`,
 * `kube.credentials` (there are none that could be sent), `kube.unauthorized`, `kube.forbidden`, `kube.conflict`,
 * `kube.timeout`, `kube.answer`, each naming the host and the URL.
 */
export interface ApiServer {
  readonly host: string;
  readonly url: string;
  /** The keys the running process verifies with: kid → SubjectPublicKeyInfo PEM. Its own /openid/v1/jwks. */
  jwks(): Promise<ReadonlyMap<string, string>>;
  /** GET /readyz?verbose; never throws for an answer that is not 200, nor for a refused connection. */
  readyz(): Promise<{ readonly ready: boolean; readonly detail: string }>;
  version(): Promise<string>;
  /**
   * Which process answers at the URL: the SHA-256 (lower-case hex) of the certificate that it made for itself when it
   * started. Undefined when what answers shows none, as nothing but an apiserver does.
   */
  processCertificate(): Promise<string | undefined>;
  /** Mints a short-lived token (TokenRequest) and returns it; stored nowhere. */
  mintToken(serviceAccount: ServiceAccountRef, ttlSeconds: number): Promise<MintedToken>;
  /** TokenReview on this apiserver. */
  reviewToken(token: string): Promise<{ readonly authenticated: boolean; readonly error?: string }>;
  serviceAccountUid(serviceAccount: ServiceAccountRef): Promise<string>;
  /**
   * Tokens that it accepted since it started though they should have been refreshed: extended ones past the hour that was
   * asked for (`serviceaccount_stale_tokens_total` of /metrics). Not counted yet is 0.
   */
  staleTokens(): Promise<number>;
  /** Every Secret of type kubernetes.io/service-account-token: what holds a token that never expires. */
  tokenSecrets(): Promise<readonly TokenSecret[]>;
  /** What pods that are not over (Succeeded, Failed) take from Secrets: mounted, as environment, to pull images. */
  secretsInUse(): Promise<readonly SecretUse[]>;
  /** The uid of the Secret of that name, without its contents; undefined when there is none. */
  secretUid(secret: ObjectRef): Promise<string | undefined>;
  /**
   * Deletes that very Secret, in that very version: any other is a `kube.conflict`. One that is gone already is as wanted.
   * An error with exit 6 when the request was sent and no answer came.
   */
  deleteSecret(secret: ObjectVersion): Promise<void>;
}

export interface ObjectRef {
  readonly namespace: string;
  readonly name: string;
}

/** An object as it was seen: one of the same name that was made or changed since is another. */
export interface ObjectVersion extends ObjectRef {
  readonly uid: string;
  readonly resourceVersion: string;
}

export interface TokenSecret extends ObjectVersion {
  /** In the same namespace; undefined when the Secret names none. */
  readonly serviceAccount: string | undefined;
  /** Undefined when kube-controller-manager has not filled it in. */
  readonly token: Secret | undefined;
  /** The day on which an apiserver last accepted it (label kubernetes.io/legacy-token-last-used). */
  readonly lastUsed?: string;
}

export interface SecretUse {
  readonly namespace: string;
  readonly secret: string;
  readonly pod: string;
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
