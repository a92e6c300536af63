import { z } from 'zod';
import { Secret } from '../core/secret.js';
import type { SecretUse, TokenSecret } from './api-server.js';
import { pageOf } from './list.js';

/** The type of a Secret that holds a service account's token. */
export const TOKEN_TYPE = 'kubernetes.io/service-account-token';

const strings = z.record(z.string(), z.string()).nullish();

/** A page of Secrets: those that hold tokens, whatever else an apiserver that does not filter may give. */
export const tokenSecretPage = pageOf(
  z
    .object({
      type: z.string().optional(),
      metadata: z.object({
        namespace: z.string(),
        name: z.string(),
        uid: z.string(),
        resourceVersion: z.string(),
        labels: strings,
        annotations: strings,
      }),
      data: strings,
    })
    .transform(({ type, metadata, data }): readonly TokenSecret[] => {
      if (type !== TOKEN_TYPE) return [];
      const { namespace, name, uid, resourceVersion, labels, annotations } = metadata;
      const token = data?.['token'];
      const lastUsed = labels?.['kubernetes.io/legacy-token-last-used'];
      const secret = {
        ...{ namespace, name, uid, resourceVersion },
        serviceAccount: annotations?.['kubernetes.io/service-account.name'],
        token: token === undefined || token === '' ? undefined : new Secret(Buffer.from(token, 'base64')),
      };
      return [{ ...secret, ...(lastUsed !== undefined && { lastUsed }) }];
    }),
);

/**
 * The names of all Secrets below a part of a pod: `secretName: N`, and `name: N` in anything called a secret (`secret`,
 * `secretRef`, `secretKeyRef`, `imagePullSecrets`). By name and not by place: that covers each kind of container and of volume,
 * also those that are not invented yet, and what it takes for a Secret in vain is only kept.
 */
const secretNames = (part: unknown, key = ''): readonly string[] => {
  if (Array.isArray(part)) return part.flatMap((each) => secretNames(each, key));
  if (typeof part !== 'object' || part === null) return key === 'secretName' ? [String(part)] : [];
  return Object.entries(part).flatMap(([name, value]) =>
    name === 'name' && /secret/i.test(key) ? [String(value)] : secretNames(value, name),
  );
};

/** A page of pods: the Secrets that those use which are not over. */
export const secretUsePage = pageOf(
  z
    .object({
      metadata: z.object({ namespace: z.string(), name: z.string() }),
      spec: z.unknown(),
      status: z.object({ phase: z.string().optional() }).optional(),
    })
    .transform(({ metadata: { namespace, name: pod }, spec, status }): readonly SecretUse[] => {
      if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return [];
      return [...new Set(secretNames(spec))].map((secret) => ({ namespace, secret, pod }));
    }),
);
