import 'reflect-metadata';
import { X509CertificateGenerator } from '@peculiar/x509';
import { createPrivateKey, generateKeyPairSync, webcrypto, type KeyObject } from 'node:crypto';
import { canonicalPem, kidOf } from '../../../src/pem/keys.js';

/** A signing key of the simulated cluster, with a certificate of it. */
export interface SimKey {
  readonly kid: string;
  readonly privatePem: string;
  readonly privateKey: KeyObject;
  readonly publicPem: string;
  readonly certificatePem: string;
}

/** Made once: what matters in a simulation is which key is where, not its bytes. */
const POOL = 80;

const make = async (serial: number): Promise<SimKey> => {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const privatePem = pair.privateKey.export({ format: 'pem', type: 'sec1' }) as string;
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
  const usable = async (format: 'pkcs8' | 'spki', der: Buffer, usage: 'sign' | 'verify') =>
    webcrypto.subtle.importKey(format, der, algorithm, true, [usage]);
  const keys = {
    privateKey: await usable('pkcs8', pair.privateKey.export({ format: 'der', type: 'pkcs8' }), 'sign'),
    publicKey: await usable('spki', pair.publicKey.export({ format: 'der', type: 'spki' }), 'verify'),
  };
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serial.toString(16).padStart(4, '0'),
    name: 'CN=service-accounts',
    notBefore: new Date('2025-01-01T00:00:00Z'),
    notAfter: new Date('2045-01-01T00:00:00Z'),
    keys,
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
  });
  return {
    kid: kidOf(pair.publicKey),
    privatePem,
    privateKey: createPrivateKey(privatePem),
    publicPem: canonicalPem(pair.publicKey),
    certificatePem: `${certificate.toString('pem')}\n`,
  };
};

export const makeKeys = async (): Promise<readonly SimKey[]> =>
  Promise.all(Array.from({ length: POOL }, async (_none, at) => make(at + 1)));
