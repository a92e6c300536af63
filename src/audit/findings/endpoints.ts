import { isIP } from 'node:net';
import type { CertificateView } from '../../pem/x509.js';
import { endpointKey } from '../facts.js';
import type { Hit, Rule } from '../rule.js';
import { isTrusted } from '../verify.js';
import { bundlesOf, read } from './api.js';

/** Why kube-apiserver would hang up; undefined when it would not. */
const refusal = (
  chain: readonly CertificateView[],
  roots: readonly CertificateView[],
  serverName: string,
  now: Date,
): string | undefined => {
  const [leaf] = chain;
  if (!leaf) return undefined;
  const named = isIP(serverName) === 0 ? leaf.node.checkHost(serverName) : leaf.node.checkIP(serverName);
  if (named === undefined) return `which does not name ${serverName}`;
  if (!isTrusted(chain, roots)) return 'which no authority in it vouches for';
  return isTrusted(chain, roots, now) ? undefined : 'which is not valid now, or whose authority is not';
};

export const endpointRefused: Rule = {
  id: 'api-endpoint-refused',
  severity: 'critical',
  why: 'kube-apiserver goes by this bundle when it calls that server, and refuses it: with a webhook that must answer, creating and changing objects fails.',
  action:
    'Let the controller that issues the certificate write the authority into the object as well (cert-manager: cainjector), the new one beside the old before the server shows a certificate of it.',
  check: (facts) =>
    bundlesOf(facts).flatMap((bundle): readonly Hit[] => {
      const { serves } = bundle.first;
      const seen = serves && facts.endpoints?.get(endpointKey(serves));
      if (!serves || !seen) return [];
      const why = refusal(seen.chain, read(bundle).certificates, serves.serverName, facts.now);
      if (why === undefined) return [];
      const serial = seen.chain[0]?.serial ?? '?';
      const text = `${bundle.subject}: ${serves.serverName} (${serves.address}) shows serial ${serial}, ${why}`;
      return [{ subject: bundle.subject, text }];
    }),
};

export const endpointUnseen: Rule = {
  id: 'api-endpoint-not-seen',
  severity: 'info',
  why: 'Whether kube-apiserver would accept it is not known.',
  action: 'See whether it runs, and whether a control plane reaches the addresses of Services.',
  check: (facts) =>
    bundlesOf(facts).flatMap((bundle): readonly Hit[] => {
      const { serves } = bundle.first;
      const seen = serves && facts.endpoints?.get(endpointKey(serves));
      if (!serves || !seen || seen.chain.length > 0) return [];
      const text = `${bundle.subject}: ${serves.serverName} (${serves.address}) showed ${seen.from} no certificate`;
      return [{ subject: bundle.subject, text }];
    }),
};
