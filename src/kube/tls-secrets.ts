import { createPublicKey } from 'node:crypto';
import { z } from 'zod';
import { pageOf, type ListRequest } from './list.js';

/** A Secret with a certificate and its key, of which only the public half is kept. */
export interface TlsSecret {
  readonly namespace: string;
  readonly name: string;
  /** `tls.crt`. */
  readonly pem: string;
  /** SubjectPublicKeyInfo in PEM of `tls.key`; undefined where that is no private key. */
  readonly publicKeyPem: string | undefined;
}

const TYPE = 'kubernetes.io/tls';

/** An apiserver gives the keys with them: who lists these may read every key of every Ingress and webhook. */
export const TLS_SECRETS: ListRequest = {
  ...{ path: '/api/v1/secrets', resource: 'secrets', fieldSelector: `type=${TYPE}` },
};

const decode = (word: string | undefined): string => Buffer.from(word ?? '', 'base64').toString();

const publicHalf = (pem: string): string | undefined => {
  try {
    return createPublicKey(pem).export({ format: 'pem', type: 'spki' }) as string;
  } catch {
    return undefined;
  }
};

/** A page of such Secrets; the private halves go no further than this. */
export const tlsSecretPage = pageOf(
  z
    .object({
      type: z.string().optional(),
      metadata: z.object({ namespace: z.string(), name: z.string() }),
      data: z.record(z.string(), z.string()).nullish(),
    })
    .transform(({ type, metadata: { namespace, name }, data }): readonly TlsSecret[] =>
      // Whatever else an apiserver that does not filter may give.
      type === TYPE
        ? [
            {
              namespace,
              name,
              pem: decode(data?.['tls.crt']),
              publicKeyPem: publicHalf(decode(data?.['tls.key'])),
            },
          ]
        : [],
    ),
);
