import type { KubeConfig } from '@kubernetes/client-node';
import { createPublicKey, type JsonWebKey } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http';
import type { RequestOptions } from 'node:https';
import { z } from 'zod';
import { CertrollError, messageOf } from '../core/errors.js';
import { exchange, failureKind, failureText, type HttpAnswer } from '../core/https.js';
import { kidOf } from '../pem/keys.js';
import type { ApiServer, MintedToken, ServiceAccountRef } from './api-server.js';

export interface ApiServerOptions {
  readonly host: string;
  readonly url: string;
  /** The name its certificate is checked for. */
  readonly serverName: string;
  /** Credentials. */
  readonly config: KubeConfig;
  readonly timeoutMs: number;
}

/** Bytes of the longest answer taken; the largest expected is a key list of some tens of kilobytes. */
const MAX_BYTES = 4 * 1024 * 1024;

const failure = (options: ApiServerOptions, path: string, thrown: unknown): CertrollError => {
  const kind = failureKind(thrown);
  const why = failureText(thrown, options.timeoutMs);
  return new CertrollError(`${options.host}: ${options.url}${path} gave no answer: ${why}`, {
    code: `kube.${kind}`,
    host: options.host,
    hint:
      kind === 'tls'
        ? `The certificate must be of a CA in the kubeconfig and name ${options.serverName} (api.serverName in the cluster file).`
        : 'See whether kube-apiserver runs there and whether the bastion reaches its port (api.port, api.ports).',
    cause: thrown,
  });
};

/** One request with the credentials of the kubeconfig. Throws `kube.unreachable|tls|timeout`. */
const send = async (
  options: ApiServerOptions,
  method: 'GET' | 'POST',
  path: string,
  body?: unknown,
): Promise<HttpAnswer> => {
  const tls: RequestOptions = {};
  await options.config.applyToHTTPSOptions(tls);
  try {
    return await exchange(new URL(path, options.url), {
      method,
      headers: {
        // A kubeconfig with a token puts it here.
        ...(tls.headers as OutgoingHttpHeaders | undefined),
        Accept: 'application/json, application/jwk-set+json, */*',
        'Content-Type': 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      tls: { ...tls, servername: options.serverName },
      timeoutMs: options.timeoutMs,
      maxBytes: MAX_BYTES,
    });
  } catch (thrown) {
    throw failure(options, path, thrown);
  }
};

/** The reason in a Kubernetes Status object, or the start of whatever came instead. */
const reasonOf = (body: string): string => {
  try {
    return z.object({ message: z.string() }).parse(JSON.parse(body)).message;
  } catch {
    return body.slice(0, 200);
  }
};

/** Throws for an answer that is not 2xx, by what can be done about it. */
const refused = (options: ApiServerOptions, path: string, answer: HttpAnswer): CertrollError => {
  const [code, hint] =
    answer.status === 401
      ? ([
          'kube.unauthorized',
          'The credentials of the kubeconfig are not accepted by this apiserver.',
        ] as const)
      : answer.status === 403
        ? ([
            'kube.forbidden',
            'Give the user of the kubeconfig the right to do this; the README lists all that is needed.',
          ] as const)
        : (['kube.answer', 'See the log of this apiserver.'] as const);
  return new CertrollError(
    `${options.host}: ${options.url}${path} answered ${answer.status}: ${reasonOf(answer.text)}`,
    { code, host: options.host, hint },
  );
};

const ask = async <T>(
  options: ApiServerOptions,
  method: 'GET' | 'POST',
  path: string,
  schema: z.ZodType<T>,
  body?: unknown,
): Promise<T> => {
  const answer = await send(options, method, path, body);
  if (answer.status < 200 || answer.status > 299) throw refused(options, path, answer);
  try {
    return schema.parse(JSON.parse(answer.text));
  } catch (cause) {
    throw new CertrollError(`${options.host}: ${options.url}${path} gave an answer that is not understood`, {
      code: 'kube.answer',
      host: options.host,
      cause,
    });
  }
};

const jwksSchema = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) });
const tokenSchema = z.object({ status: z.object({ token: z.string() }) });
const reviewSchema = z.object({
  status: z.object({ authenticated: z.boolean().optional(), error: z.string().optional() }),
});
const headerSchema = z.object({ kid: z.string(), alg: z.string() });
const claimsSchema = z.object({ iss: z.string(), aud: z.union([z.string(), z.array(z.string())]) });

const readToken = (token: string): MintedToken => {
  const part = (at: number): unknown =>
    JSON.parse(Buffer.from(token.split('.')[at] ?? '', 'base64url').toString());
  const header = headerSchema.parse(part(0));
  const claims = claimsSchema.parse(part(1));
  return {
    token,
    kid: header.kid,
    algorithm: header.alg,
    issuer: claims.iss,
    audiences: [claims.aud].flat(),
  };
};

/** One kube-apiserver at its own address; see `ApiServer`. */
export const apiServer = (options: ApiServerOptions): ApiServer => {
  const account = ({ namespace, name }: ServiceAccountRef): string =>
    `/api/v1/namespaces/${namespace}/serviceaccounts/${name}`;
  return {
    host: options.host,
    url: options.url,

    async jwks() {
      const { keys } = await ask(options, 'GET', '/openid/v1/jwks', jwksSchema);
      const pems = keys.map(
        (jwk) =>
          createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' }).export({
            format: 'pem',
            type: 'spki',
          }) as string,
      );
      return new Map(pems.map((pem) => [kidOf(pem), pem]));
    },

    async readyz() {
      try {
        const answer = await send(options, 'GET', '/readyz?verbose');
        const failing = answer.text.split('\n').filter((line) => line.startsWith('[-]'));
        return { ready: answer.status === 200, detail: failing.join('; ') || `HTTP ${answer.status}` };
      } catch (thrown) {
        return { ready: false, detail: messageOf(thrown) };
      }
    },

    async version() {
      return (await ask(options, 'GET', '/version', z.object({ gitVersion: z.string() }))).gitVersion;
    },

    async mintToken(serviceAccount, ttlSeconds) {
      const body = {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { expirationSeconds: ttlSeconds },
      };
      const { status } = await ask(options, 'POST', `${account(serviceAccount)}/token`, tokenSchema, body);
      return readToken(status.token);
    },

    async reviewToken(token) {
      const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
      const { status } = await ask(
        options,
        'POST',
        '/apis/authentication.k8s.io/v1/tokenreviews',
        reviewSchema,
        body,
      );
      return {
        authenticated: status.authenticated === true,
        ...(status.error === undefined ? {} : { error: status.error }),
      };
    },

    async serviceAccountUid(serviceAccount) {
      const found = await ask(
        options,
        'GET',
        account(serviceAccount),
        z.object({ metadata: z.object({ uid: z.string() }) }),
      );
      return found.metadata.uid;
    },
  };
};
