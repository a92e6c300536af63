import { z } from 'zod';
import { CertrollError } from '../core/errors.js';
import { ask } from './ask.js';
import type { ApiTarget } from './request.js';

/** How an object of the API says where kube-apiserver finds a server: a Service, or a URL. */
export type Endpoint =
  | { readonly kind: 'service'; readonly namespace: string; readonly name: string; readonly port: number }
  | { readonly kind: 'url'; readonly host: string; readonly port: number };

/** Where kube-apiserver connects to, and the name that it expects in the certificate there. */
export interface Address {
  /** `ADDRESS:PORT`, an IPv6 address in brackets. */
  readonly address: string;
  readonly serverName: string;
}

/** The part of webhooks, conversions and APIServices that says so. */
export const clientConfig = z.object({
  caBundle: z
    .string()
    .nullish()
    .transform((text) => text ?? undefined),
  url: z.string().nullish(),
  service: z.object({ namespace: z.string(), name: z.string(), port: z.int().nullish() }).nullish(),
});

const HTTPS = 443;

/** Undefined where it is no server of its own: an APIService that kube-apiserver serves itself. */
export const endpointOf = ({
  url,
  service,
}: Partial<z.output<typeof clientConfig>>): Endpoint | undefined => {
  if (service) {
    const { namespace, name, port } = service;
    return { kind: 'service', namespace, name, port: port ?? HTTPS };
  }
  if (url === undefined || url === null || !URL.canParse(url)) return undefined;
  const { hostname, port } = new URL(url);
  return { kind: 'url', host: hostname, port: Number(port || HTTPS) };
};

const serviceSchema = z.object({
  spec: z.object({ clusterIP: z.string().optional(), externalName: z.string().optional() }),
});

const withPort = (host: string, port: number): string =>
  `${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}`;

/** The host part of a Service: its cluster address, as kube-apiserver's default resolver takes it. */
const hostOf = async (
  target: ApiTarget,
  { namespace, name }: Extract<Endpoint, { kind: 'service' }>,
): Promise<string | undefined> => {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/services/${encodeURIComponent(name)}`;
  const asked = { method: 'GET', path, right: 'get services in all namespaces' } as const;
  const { spec } = await ask(target, asked, serviceSchema);
  const { clusterIP = '', externalName } = spec;
  return clusterIP !== '' && clusterIP !== 'None' ? clusterIP : externalName;
};

/**
 * The addresses of all endpoints; those of a Service that is not there, or has no address, are missing. What may not be
 * read is told once.
 */
export const resolveEndpoints = async (
  target: ApiTarget,
  endpoints: readonly Endpoint[],
): Promise<{
  readonly found: ReadonlyMap<Endpoint, Address>;
  readonly unread: readonly { readonly what: string; readonly why: string; readonly isForbidden: boolean }[];
}> => {
  const found = new Map<Endpoint, Address>();
  const hosts = new Map<string, string | undefined>();
  const unread: { what: string; why: string; isForbidden: boolean }[] = [];
  for (const endpoint of endpoints) {
    if (endpoint.kind === 'url') {
      const { host, port } = endpoint;
      found.set(endpoint, { address: withPort(host, port), serverName: host.replace(/^\[|\]$/g, '') });
      continue;
    }
    const { namespace, name, port } = endpoint;
    const key = `${namespace}/${name}`;
    if (!hosts.has(key)) hosts.set(key, await hostOf(target, endpoint).catch(notThere(unread)));
    const host = hosts.get(key);
    if (host !== undefined)
      found.set(endpoint, { address: withPort(host, port), serverName: `${name}.${namespace}.svc` });
  }
  return { found, unread };
};

/** A Service that is not there has no address; one that may not be read is told of; anything else is thrown on. */
const notThere =
  (unread: { what: string; why: string; isForbidden: boolean }[]) =>
  (thrown: unknown): undefined => {
    if (!(thrown instanceof CertrollError)) throw thrown;
    if (/ answered 404: /.test(thrown.message)) return undefined;
    if (thrown.code !== 'kube.forbidden' && thrown.code !== 'kube.answer') throw thrown;
    if (unread.length === 0)
      unread.push({
        ...{ what: 'services', why: thrown.message },
        isForbidden: thrown.code === 'kube.forbidden',
      });
    return undefined;
  };
