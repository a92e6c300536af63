/** A PKI that certifies a public key. One small interface, so that a site's own PKI can be added. */
export interface Issuer {
  /** For people: `local CA /etc/pki/sa-ca.crt`, `cfssl https://pki.example.net:8888 (service-accounts)`. */
  readonly description: string;
  /**
   * Throws `issuer.ca-expired`, `issuer.ca-not-yet-valid` or `issuer.ca-too-short` (exit 4), `issuer.unreachable`,
   * `issuer.timeout`, `issuer.tls`, `issuer.auth`, `issuer.answer`; called before anything is changed. Changes nothing.
   */
  check(now: Date): Promise<IssuerState>;
  /**
   * Certifies the key of the request. Verified before it is returned: the request's own key, the chain up to the
   * CA, dates, usages. Throws `issuer.*`.
   */
  issue(request: IssueRequest): Promise<IssuedCertificate>;
}

/** What an issuer must know of the run besides its own part of the cluster file. */
export interface IssuerOptions {
  /** Milliseconds: a certificate with less life than this would be due for renewal at once (thresholds.renewBefore). */
  readonly renewWindowMs?: number;
  /** Milliseconds that an issuer on the network may take. */
  readonly timeoutMs?: number;
}

export interface IssuerState {
  /** Certificates of the CA, PEM. */
  readonly caPem: string;
  readonly caNotAfter: Date;
}

export interface IssueRequest {
  /** PKCS#10, PEM. */
  readonly csrPem: string;
  /** Milliseconds wished for; capped to the CA's remaining life less a margin. */
  readonly ttlMs: number;
  readonly now: Date;
}

export interface IssuedCertificate {
  /** Leaf, then intermediates, PEM. */
  readonly pem: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly serial: string;
  /** True when the TTL had to be cut to the CA's remaining life. */
  readonly capped: boolean;
}
