import { connect, type PeerCertificate, type SecureContextOptions } from 'node:tls';

export interface PeerOptions extends Pick<SecureContextOptions, 'cert' | 'key'> {
  /** The name asked for (SNI); servers have several certificates. */
  readonly serverName?: string;
  /** Milliseconds. */
  readonly timeoutMs: number;
}

/**
 * The certificate that a server shows, whoever vouches for it: nothing is sent, it is only looked at. Rejects with
 * Node's own error.
 */
export const peerCertificate = async (url: URL, options: PeerOptions): Promise<PeerCertificate> =>
  new Promise((resolve, reject) => {
    const { serverName, timeoutMs, ...pair } = options;
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const port = Number(url.port === '' ? 443 : url.port);
    const socket = connect({
      ...pair,
      host,
      port,
      ...(serverName !== undefined && { servername: serverName }),
      rejectUnauthorized: false,
    });
    const limit = AbortSignal.timeout(timeoutMs);
    limit.addEventListener('abort', () => socket.destroy(limit.reason as Error));
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      resolve(socket.getPeerCertificate());
      socket.destroy();
    });
  });

/** `DNS:a, IP Address:10.0.0.1` as Node prints it, as names and addresses. */
export const namesOf = (subjectAltName: string | undefined): readonly string[] =>
  (subjectAltName ?? '')
    .split(', ')
    .flatMap((entry) => /^(?:DNS|IP Address):(.+)$/.exec(entry.trim())?.[1] ?? []);
