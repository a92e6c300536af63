import { createPrivateKey, X509Certificate } from 'node:crypto';
import { CertrollError, messageOf } from '../../core/errors.js';
import type { CertificateLife } from '../../doctor/certificates.js';
import { readPem } from '../../pem/read.js';

const wrong = (message: string, hint: string): CertrollError =>
  new CertrollError(message, { code: 'doctor.certificate', hint });

/** The certificates of a PEM text. Throws `doctor.certificate` when there is none. */
export const certificatesIn = (text: string, what: string): readonly X509Certificate[] => {
  const blocks = readPem(text).blocks.filter(({ type }) => type === 'CERTIFICATE');
  if (blocks.length === 0) throw wrong(`the ${what} holds no certificate`, 'Put the right file there.');
  try {
    return blocks.map(({ bytes }) => new X509Certificate(bytes));
  } catch (thrown) {
    throw wrong(`the ${what} cannot be read: ${messageOf(thrown)}`, 'Put the right file there.');
  }
};

export const lifeOf = (certificate: X509Certificate, what: string): CertificateLife => ({
  what,
  notBefore: new Date(certificate.validFrom),
  notAfter: new Date(certificate.validTo),
});

/** Throws `doctor.certificate` unless that is the key of the certificate. Nothing of the key gets into the message. */
export const checkPair = (certificate: X509Certificate, key: string | Buffer, what: string): void => {
  let privateKey;
  try {
    privateKey = createPrivateKey(key);
  } catch {
    throw wrong(
      `the key of the ${what} is no private key that can be read`,
      'It must be PEM, without a passphrase.',
    );
  }
  if (!certificate.checkPrivateKey(privateKey))
    throw wrong(
      `the key of the ${what} is not that of its certificate`,
      'Put the two files of one pair there: one of them was renewed without the other.',
    );
};
