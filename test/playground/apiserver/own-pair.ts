import 'reflect-metadata';
import { KeyObject, webcrypto } from 'node:crypto';
import { X509CertificateGenerator } from '@peculiar/x509';
import { LOOPBACK_NAME } from '../../../src/kube/flags.js';

const YEAR_MS = 365 * 86_400_000;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** The pair that an apiserver makes for itself at each start: which process answers can be told by it. */
export const ownPair = async (): Promise<{ readonly cert: string; readonly key: string }> => {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${LOOPBACK_NAME}@${Math.floor(Date.now() / 1000)}`,
    notBefore: new Date(),
    notAfter: new Date(Date.now() + YEAR_MS),
    signingAlgorithm: ALGORITHM,
    keys,
  });
  const key = KeyObject.from(keys.privateKey);
  return {
    cert: certificate.toString('pem'),
    key: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
};
