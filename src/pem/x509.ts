/**
 * The one module that loads @peculiar/x509 (and reflect-metadata, which must come first). It takes a while to load:
 * import it lazily.
 */
import 'reflect-metadata';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Pkcs10CertificateRequest,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate as PeculiarCertificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { createPublicKey, randomBytes, webcrypto, X509Certificate, type KeyObject } from 'node:crypto';

/** What of a certificate its verifiers look at. */
export interface CertificateView {
  readonly pem: string;
  readonly der: Buffer;
  /** For signatures and for whether one issued another; Node reads no dates and no usages. */
  readonly node: X509Certificate;
  readonly publicKey: KeyObject;
  /** Upper-case hex, as Node and openssl print it. */
  readonly serial: string;
  readonly subject: string;
  readonly subjectDer: Buffer;
  readonly issuerDer: Buffer;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly isCa: boolean;
  /** Undefined when the certificate does not say, which allows all. */
  readonly keyUsages: { readonly digitalSignature: boolean; readonly keyCertSign: boolean } | undefined;
  /** Hash of the signature, lower case: `sha-256`. Undefined where the algorithm has none of its own. */
  readonly signatureHash: string | undefined;
  readonly subjectKeyId: string | undefined;
  /** Object identifiers of critical extensions that a verifier in Go does not know, so that it refuses the certificate. */
  readonly unknownCritical: readonly string[];
}

/** Extensions that Go's crypto/x509 handles. */
const KNOWN = new Set(
  ['14', '15', '17', '19', '30', '31', '32', '35', '37', '54'].map((arc) => `2.5.29.${arc}`),
);

/** Its constructor takes no memory that could be shared, which by its type a Buffer's may be. */
const parseDer = (der: Buffer): PeculiarCertificate => new PeculiarCertificate(new Uint8Array(der));

/** What OpenSSL and Go refuse, and the parser here would read as some date. */
const checkDates = ({ validFrom, validTo }: X509Certificate): void => {
  for (const date of [validFrom, validTo])
    if (Number.isNaN(Date.parse(date))) throw new Error('it has a date that is none');
};

/** Reads one certificate (DER). Throws when it is none, or has a date or serial that Go's crypto/x509 refuses. */
export const viewCertificate = (der: Buffer): CertificateView => {
  const node = new X509Certificate(der);
  checkDates(node);
  if (node.serialNumber.startsWith('-')) throw new Error('it has a negative serial number');
  const parsed = parseDer(der);
  const usages = parsed.getExtension(KeyUsagesExtension)?.usages;
  const algorithm = parsed.signatureAlgorithm as { readonly hash?: { readonly name: string } };
  return {
    pem: node.toString(),
    der: node.raw,
    node,
    publicKey: node.publicKey,
    serial: node.serialNumber,
    subject: parsed.subject,
    subjectDer: Buffer.from(parsed.subjectName.toArrayBuffer()),
    issuerDer: Buffer.from(parsed.issuerName.toArrayBuffer()),
    notBefore: parsed.notBefore,
    notAfter: parsed.notAfter,
    isCa: parsed.getExtension(BasicConstraintsExtension)?.ca ?? false,
    keyUsages:
      usages === undefined
        ? undefined
        : {
            digitalSignature: (usages & KeyUsageFlags.digitalSignature) !== 0,
            keyCertSign: (usages & KeyUsageFlags.keyCertSign) !== 0,
          },
    signatureHash: algorithm.hash?.name.toLowerCase(),
    subjectKeyId: parsed.getExtension(SubjectKeyIdentifierExtension)?.keyId,
    unknownCritical: parsed.extensions
      .filter(({ critical, type }) => critical && !KNOWN.has(type))
      .map(({ type }) => type),
  };
};

/** A certificate request whose own signature has been checked. */
export interface CertificateRequest {
  readonly publicKey: KeyObject;
  readonly parsed: Pkcs10CertificateRequest;
}

/** Reads a PKCS#10 request (PEM). Throws when it is none or not signed with its own key. */
export const readRequest = async (pem: string): Promise<CertificateRequest> => {
  const parsed = new Pkcs10CertificateRequest(pem);
  if (!(await parsed.verify())) throw new Error('it is not signed with the key that it names');
  const publicKey = createPublicKey({
    key: Buffer.from(parsed.publicKey.rawData),
    format: 'der',
    type: 'spki',
  });
  return { publicKey, parsed };
};

export interface LeafOptions {
  readonly request: CertificateRequest;
  readonly ca: CertificateView;
  readonly caKey: KeyObject;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** Signs a leaf that may sign, and nothing else. Gives its DER. */
export const signLeaf = async ({ request, ca, caKey, notBefore, notAfter }: LeafOptions): Promise<Buffer> => {
  const { parsed } = request;
  const { publicKey } = parsed;
  const san = parsed.extensions.find((found) => found instanceof SubjectAlternativeNameExtension);
  const leaf = await X509CertificateGenerator.create({
    serialNumber: randomSerial(),
    // Names as they were parsed, not their text: re-encoding could change the string types, and Go compares bytes.
    subject: parsed.subjectName,
    issuer: parseDer(ca.der).subjectName,
    notBefore,
    notAfter,
    publicKey,
    signingKey: await importSigningKey(caKey),
    signingAlgorithm: { name: 'ECDSA', hash: isP384(caKey) ? 'SHA-384' : 'SHA-256' },
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      await SubjectKeyIdentifierExtension.create(publicKey),
      // The identifier that the CA's certificate gives, however that was made.
      ca.subjectKeyId === undefined
        ? await AuthorityKeyIdentifierExtension.create(ca.publicKey.export({ format: 'der', type: 'spki' }))
        : new AuthorityKeyIdentifierExtension(ca.subjectKeyId),
      ...(san ? [san] : []),
    ],
  });
  return Buffer.from(leaf.rawData);
};

/** 128 bits, random but for the two that keep it positive and of that length. */
const randomSerial = (): string => {
  const serial = randomBytes(16);
  serial.writeUInt8((serial.readUInt8(0) & 0x7f) | 0x40, 0);
  return serial.toString('hex');
};

const importSigningKey = async (key: KeyObject): Promise<webcrypto.CryptoKey> => {
  const der = key.export({ format: 'der', type: 'pkcs8' });
  try {
    return await webcrypto.subtle.importKey('pkcs8', der, signingAlgorithm(key), false, ['sign']);
  } finally {
    der.fill(0);
  }
};

const signingAlgorithm = (key: KeyObject): webcrypto.RsaHashedImportParams | webcrypto.EcKeyImportParams => {
  if (key.asymmetricKeyType === 'rsa') return { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  return { name: 'ECDSA', namedCurve: isP384(key) ? 'P-384' : 'P-256' };
};

const isP384 = (key: KeyObject): boolean => key.asymmetricKeyDetails?.namedCurve === 'secp384r1';
