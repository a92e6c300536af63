import { connect, type PeerCertificate } from 'node:tls';
import { failureKind, failureText } from '../core/https.js';
import { LOOPBACK_NAME } from './flags.js';
import { apiError, type ApiTarget } from './request.js';

const shownFor = async (url: URL, servername: string, timeoutMs: number): Promise<PeerCertificate> =>
  new Promise((resolve, reject) => {
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const port = Number(url.port === '' ? 443 : url.port);
    // Nobody vouches for what a process made for itself, and nothing is sent: it is only compared.
    const socket = connect({ host, port, servername, rejectUnauthorized: false });
    const limit = AbortSignal.timeout(timeoutMs);
    limit.addEventListener('abort', () => socket.destroy(limit.reason as Error));
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      resolve(socket.getPeerCertificate());
      socket.destroy();
    });
  });

/** See `ApiServer.processCertificate`. Throws `kube.unreachable`, `kube.timeout` and `kube.tls`. */
export const processCertificate = async (target: ApiTarget): Promise<string | undefined> => {
  try {
    const { subject, fingerprint256 } = await shownFor(new URL(target.url), LOOPBACK_NAME, target.timeoutMs);
    const isOwn = [subject.CN].flat().some((name) => name?.startsWith(LOOPBACK_NAME));
    return isOwn ? fingerprint256.replaceAll(':', '').toLowerCase() : undefined;
  } catch (thrown) {
    const why = `gave no certificate: ${failureText(thrown, target.timeoutMs)}`;
    throw apiError(target, { method: 'GET', path: '/' }, `kube.${failureKind(thrown)}`, why);
  }
};
