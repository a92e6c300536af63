import { failureKind, failureText } from '../core/https.js';
import { peerCertificate } from '../core/peer-certificate.js';
import { LOOPBACK_NAME } from './flags.js';
import { apiError, type ApiTarget } from './request.js';

/** See `ApiServer.processCertificate`. Throws `kube.unreachable`, `kube.timeout` and `kube.tls`. */
export const processCertificate = async (target: ApiTarget): Promise<string | undefined> => {
  try {
    // Nobody vouches for what a process made for itself: it is only compared.
    const { subject, fingerprint256 } = await peerCertificate(new URL(target.url), {
      serverName: LOOPBACK_NAME,
      timeoutMs: target.timeoutMs,
    });
    const isOwn = [subject.CN].flat().some((name) => name?.startsWith(LOOPBACK_NAME));
    return isOwn ? fingerprint256.replaceAll(':', '').toLowerCase() : undefined;
  } catch (thrown) {
    const why = `gave no certificate: ${failureText(thrown, target.timeoutMs)}`;
    throw apiError(target, { method: 'GET', path: '/' }, `kube.${failureKind(thrown)}`, why);
  }
};
