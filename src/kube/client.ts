import type { KubeConfig } from '@kubernetes/client-node';
import { createPublicKey, type JsonWebKey } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http';
import { request, type RequestOptions } from 'node:https';
import { z } from 'zod';
import { CertrollError, messageOf } from '../core/errors.js';
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

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Answers larger than this are refused; the largest expected is a key list of some tens of kilobytes. */
const MAX_BODY = 4 * 1024 * 1024;

const tlsCodes = /CERT|UNABLE_TO_|SELF_SIGNED|ERR_TLS|ERR_SSL|EPROTO/;

const failure = (options: ApiServerOptions, path: string, thrown: unknown): CertrollError => {
  const code = (thrown as { code?: string }).code ?? '';
  const where = `${options.host}: GET or POST ${options.url}${path}`;
  const isTls = tlsCodes.test(code);
  return new CertrollError(`${where} failed: ${messageOf(thrown)}`, {
    code: code === 'CERTROLL_TIMEOUT' ? 'kube.timeout' : isTls ? 'kube.tls' : 'kube.unreachable',
    host: options.host,
    hint: isTls
      ? `The certificate must be of a CA in the kubeconfig and name ${options.serverName} (api.serverName in the cluster file).`
      : 'See whether kube-apiserver runs there and whether the bastion reaches its port (api.port, api.ports).',
    cause: thrown,
  });
};

/** One request with a limit of time and size. Throws `kube.unreachable|tls|timeout`. */
const send = async (
  options: ApiServerOptions,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> => {
  const tls: RequestOptions = {};
  await options.config.applyToHTTPSOptions(tls);
  return new Promise((resolve, reject) => {
    const fail = (thrown: unknown): void => reject(failure(options, path, thrown));
    const sent = request(
      new URL(path, options.url),
      {
        ...tls,
        method,
        servername: options.serverName,
        headers: {
          // A kubeconfig with a token puts it here.
          ...(tls.headers as OutgoingHttpHeaders | undefined),
          Accept: 'application/json, application/jwk-set+json, */*',
          'Content-Type': 'application/json',
        },
        signal: AbortSignal.timeout(options.timeoutMs),
        agent: false,
      },
      (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size > MAX_BODY) sent.destroy(new Error(`the answer has more than ${MAX_BODY} bytes`));
          else chunks.push(chunk);
        });
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
        );
        response.on('error', fail);
      },
    );
    sent.on('error', (error: NodeJS.ErrnoException) => {
      const timedOut = error.name === 'TimeoutError' || error.code === 'ABORT_ERR';
      fail(
        timedOut
          ? Object.assign(new Error(`no answer within ${options.timeoutMs} ms`), { code: 'CERTROLL_TIMEOUT' })
          : error,
      );
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
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
const refused = (options: ApiServerOptions, path: string, answer: Answer): CertrollError => {
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
    `${options.host}: ${options.url}${path} answered ${answer.status}: ${reasonOf(answer.body)}`,
    { code, host: options.host, hint },
  );
};

const ask = async <T>(
  options: ApiServerOptions,
  method: string,
  path: string,
  schema: z.ZodType<T>,
  body?: unknown,
): Promise<T> => {
  const answer = await send(options, method, path, body);
  if (answer.status < 200 || answer.status > 299) throw refused(options, path, answer);
  try {
    return schema.parse(JSON.parse(answer.body));
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
        const failing = answer.body.split('\n').filter((line) => line.startsWith('[-]'));
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
