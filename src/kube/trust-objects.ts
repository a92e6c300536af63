import { z } from 'zod';
import { CertrollError } from '../core/errors.js';
import { listAll, pageOf, type ListRequest, type Page } from './list.js';
import type { ApiTarget } from './request.js';

/** A bundle of authorities in an object of the API. */
export interface BundleObject {
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string;
  /** Where in it: `data.ca.crt`, the name of a webhook. */
  readonly part: string;
  readonly pem: string;
}

/** A certificate signing request that nobody has decided on. */
export interface PendingRequest {
  readonly name: string;
  readonly signer: string;
  readonly createdAt: Date;
}

export interface TrustObjects {
  readonly bundles: readonly BundleObject[];
  readonly pending: readonly PendingRequest[];
  /** What could not be listed, and why. */
  readonly unread: readonly { readonly what: string; readonly why: string }[];
}

const metadata = z.object({
  name: z.string(),
  namespace: z.string().optional(),
  creationTimestamp: z.string().optional(),
});

const decode = (word: string): string => Buffer.from(word, 'base64').toString();

const configMaps = (keys: readonly string[]): z.ZodType<Page<BundleObject>> =>
  pageOf(
    z.object({ metadata, data: z.record(z.string(), z.string()).nullish() }).transform((object) =>
      keys.flatMap((key): readonly BundleObject[] => {
        const text = object.data?.[key];
        if (text === undefined || text === '') return [];
        const { name, namespace } = object.metadata;
        // In cluster-info it stands in a kubeconfig.
        const data = /certificate-authority-data:\s*"?([A-Za-z0-9+/=]+)/.exec(text)?.[1];
        const pem = key === 'kubeconfig' ? decode(data ?? '') : text;
        return [{ kind: 'ConfigMap', namespace, name, part: `data.${key}`, pem }];
      }),
    ),
  );

const webhooks = (kind: string): z.ZodType<Page<BundleObject>> =>
  pageOf(
    z
      .object({
        metadata,
        webhooks: z
          .array(z.object({ name: z.string(), clientConfig: z.object({ caBundle: z.string().optional() }) }))
          .nullish(),
      })
      .transform((object) =>
        (object.webhooks ?? []).flatMap(({ name: part, clientConfig: { caBundle } }) =>
          caBundle === undefined || caBundle === ''
            ? []
            : [{ kind, namespace: undefined, name: object.metadata.name, part, pem: decode(caBundle) }],
        ),
      ),
  );

const apiServices = pageOf(
  z
    .object({ metadata, spec: z.object({ caBundle: z.string().optional() }) })
    .transform(({ metadata: { name }, spec: { caBundle } }): readonly BundleObject[] =>
      caBundle === undefined || caBundle === ''
        ? []
        : [{ kind: 'APIService', namespace: undefined, name, part: 'spec.caBundle', pem: decode(caBundle) }],
    ),
);

const pendingRequests = pageOf(
  z
    .object({
      metadata,
      spec: z.object({ signerName: z.string() }),
      status: z
        .object({ conditions: z.array(z.unknown()).optional(), certificate: z.string().optional() })
        .optional(),
    })
    .transform(({ metadata: { name, creationTimestamp }, spec, status }): readonly PendingRequest[] =>
      (status?.conditions ?? []).length > 0 || status?.certificate !== undefined
        ? []
        : [{ name, signer: spec.signerName, createdAt: new Date(creationTimestamp ?? 0) }],
    ),
);

const BUNDLES: readonly { readonly list: ListRequest; readonly page: z.ZodType<Page<BundleObject>> }[] = [
  {
    list: {
      ...{ path: '/api/v1/configmaps', resource: 'configmaps' },
      fieldSelector: 'metadata.name=kube-root-ca.crt',
    },
    page: configMaps(['ca.crt']),
  },
  {
    list: {
      ...{ path: '/api/v1/namespaces/kube-system/configmaps', resource: 'configmaps' },
      fieldSelector: 'metadata.name=extension-apiserver-authentication',
    },
    page: configMaps(['client-ca-file', 'requestheader-client-ca-file']),
  },
  {
    list: {
      ...{ path: '/api/v1/namespaces/kube-public/configmaps', resource: 'configmaps' },
      fieldSelector: 'metadata.name=cluster-info',
    },
    page: configMaps(['kubeconfig']),
  },
  ...['Validating', 'Mutating'].map((which) => {
    const resource = `${which.toLowerCase()}webhookconfigurations`;
    return {
      list: { path: `/apis/admissionregistration.k8s.io/v1/${resource}`, resource },
      page: webhooks(`${which}WebhookConfiguration`),
    };
  }),
  {
    list: { path: '/apis/apiregistration.k8s.io/v1/apiservices', resource: 'apiservices' },
    page: apiServices,
  },
];

const REQUESTS: ListRequest = {
  path: '/apis/certificates.k8s.io/v1/certificatesigningrequests',
  resource: 'certificatesigningrequests',
};

/**
 * The bundles of authorities in the API, and the signing requests that wait. Only lists, of what is public: TLS Secrets are
 * left alone, since an apiserver gives their keys with them. What may not be listed is told; throws for an apiserver that
 * does not answer at all.
 */
export const trustObjects = async (target: ApiTarget): Promise<TrustObjects> => {
  const unread: { what: string; why: string }[] = [];
  const list = async <T>(asked: ListRequest, page: z.ZodType<Page<T>>): Promise<readonly T[]> => {
    try {
      return await listAll(target, asked, page);
    } catch (thrown) {
      if (!(thrown instanceof CertrollError) || !['kube.forbidden', 'kube.answer'].includes(thrown.code))
        throw thrown;
      // An apiserver that does not serve this kind has none of it.
      if (/ answered 404: /.test(thrown.message)) return [];
      unread.push({ what: `${asked.resource} (${asked.path})`, why: thrown.message });
      return [];
    }
  };
  const bundles: BundleObject[] = [];
  for (const { list: asked, page } of BUNDLES) bundles.push(...(await list(asked, page)));
  return { bundles, pending: await list(REQUESTS, pendingRequests), unread };
};
