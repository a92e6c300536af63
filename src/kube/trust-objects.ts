import { z } from 'zod';
import { CertrollError } from '../core/errors.js';
import { clientConfig, endpointOf, resolveEndpoints, type Address, type Endpoint } from './endpoints.js';
import { listAll, pageOf, type ListRequest, type Page } from './list.js';
import type { ApiTarget } from './request.js';
import { TLS_SECRETS, tlsSecretPage, type TlsSecret } from './tls-secrets.js';

/** A bundle of authorities in an object of the API. */
export interface BundleObject {
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string;
  /** Where in it: `data.ca.crt`, the name of a webhook. */
  readonly part: string;
  readonly pem: string;
  /** Who is verified by it, where the object itself says so: a webhook, an aggregated apiserver. */
  readonly serves?: Address;
}

/** As it was listed: the address of a Service is not known yet. */
type Listed = Omit<BundleObject, 'serves'> & { readonly endpoint?: Endpoint };

/** A certificate signing request that nobody has decided on. */
export interface PendingRequest {
  readonly name: string;
  readonly signer: string;
  readonly createdAt: Date;
}

/** What could not be read, and why. */
export interface Unread {
  readonly what: string;
  readonly why: string;
  /** Whether the user of the kubeconfig may not; else something is wrong with the apiserver. */
  readonly isForbidden: boolean;
}

export interface TrustObjects {
  readonly bundles: readonly BundleObject[];
  readonly pending: readonly PendingRequest[];
  /** Only where they were asked for. */
  readonly secrets?: readonly TlsSecret[];
  /** What could not be listed, and why. */
  readonly unread: readonly Unread[];
}

const metadata = z.object({
  name: z.string(),
  namespace: z.string().optional(),
  creationTimestamp: z.string().optional(),
});

const decode = (word: string): string => Buffer.from(word, 'base64').toString();

const configMaps = (keys: readonly string[]): z.ZodType<Page<Listed>> =>
  pageOf(
    z.object({ metadata, data: z.record(z.string(), z.string()).nullish() }).transform((object) =>
      keys.flatMap((key): readonly Listed[] => {
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

/** A bundle beside the address of whom it verifies; none where the system's authorities do. */
const withEndpoint = (
  object: Omit<Listed, 'pem' | 'namespace'>,
  caBundle: string | undefined,
  endpoint: Endpoint | undefined,
): readonly Listed[] =>
  caBundle === undefined || caBundle === ''
    ? []
    : [{ ...object, namespace: undefined, pem: decode(caBundle), ...(endpoint && { endpoint }) }];

const webhooks = (kind: string): z.ZodType<Page<Listed>> =>
  pageOf(
    z
      .object({
        metadata,
        webhooks: z.array(z.object({ name: z.string(), clientConfig })).nullish(),
      })
      .transform(({ metadata: { name }, webhooks: all }) =>
        (all ?? []).flatMap(({ name: part, clientConfig: given }) =>
          withEndpoint({ kind, name, part }, given.caBundle, endpointOf(given)),
        ),
      ),
  );

const apiServices = pageOf(
  z
    .object({ metadata, spec: clientConfig.omit({ url: true }) })
    .transform(({ metadata: { name }, spec }) =>
      withEndpoint({ kind: 'APIService', name, part: 'spec.caBundle' }, spec.caBundle, endpointOf(spec)),
    ),
);

const definitions = pageOf(
  z
    .object({
      metadata,
      spec: z.object({
        conversion: z
          .object({ webhook: z.object({ clientConfig: clientConfig.nullish() }).nullish() })
          .nullish(),
      }),
    })
    .transform(({ metadata: { name }, spec }) => {
      const given = spec.conversion?.webhook?.clientConfig;
      const object = { kind: 'CustomResourceDefinition', name, part: 'spec.conversion.webhook' };
      return withEndpoint(object, given?.caBundle, endpointOf(given ?? {}));
    }),
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

const BUNDLES: readonly { readonly list: ListRequest; readonly page: z.ZodType<Page<Listed>> }[] = [
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
  {
    list: {
      path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      resource: 'customresourcedefinitions',
    },
    page: definitions,
  },
];

const REQUESTS: ListRequest = {
  path: '/apis/certificates.k8s.io/v1/certificatesigningrequests',
  resource: 'certificatesigningrequests',
};

/**
 * The bundles of authorities in the API with the addresses of those that they verify, and the signing requests that wait. Only
 * reads, and only of what is public, unless TLS Secrets are asked for: an apiserver gives their keys with them. What may not be
 * read is told; throws for an apiserver that does not answer at all.
 */
export const trustObjects = async (
  target: ApiTarget,
  { secrets: isWanted = false }: { readonly secrets?: boolean } = {},
): Promise<TrustObjects> => {
  const unread: Unread[] = [];
  const list = async <T>(asked: ListRequest, page: z.ZodType<Page<T>>): Promise<readonly T[]> => {
    try {
      return await listAll(target, asked, page);
    } catch (thrown) {
      if (!(thrown instanceof CertrollError) || !['kube.forbidden', 'kube.answer'].includes(thrown.code))
        throw thrown;
      // An apiserver that does not serve this kind has none of it.
      if (/ answered 404: /.test(thrown.message)) return [];
      unread.push({
        ...{ what: `${asked.resource} (${asked.path})`, why: thrown.message },
        isForbidden: thrown.code === 'kube.forbidden',
      });
      return [];
    }
  };
  const listed: Listed[] = [];
  for (const { list: asked, page } of BUNDLES) listed.push(...(await list(asked, page)));
  const pending = await list(REQUESTS, pendingRequests);
  const secrets = isWanted ? await list(TLS_SECRETS, tlsSecretPage) : undefined;
  const addresses = await resolveEndpoints(
    target,
    listed.flatMap(({ endpoint }) => endpoint ?? []),
  );
  const bundles = listed.map(({ endpoint, ...bundle }) => {
    const serves = endpoint && addresses.found.get(endpoint);
    return { ...bundle, ...(serves && { serves }) };
  });
  return { bundles, pending, ...(secrets && { secrets }), unread: [...unread, ...addresses.unread] };
};
