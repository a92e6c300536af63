import type { OutgoingHttpHeaders } from 'node:http';
import type { RequestOptions } from 'node:https';
import { CertrollError, messageOf } from '../core/errors.js';
import { exchange, failureKind, failureText, type HttpAnswer } from '../core/https.js';
import { oneLine } from '../core/text.js';
import type { Credentials } from './credentials.js';

/** One kube-apiserver and how it is asked. */
export interface ApiTarget {
  readonly host: string;
  readonly url: string;
  /** The name its certificate is checked for. */
  readonly serverName: string;
  readonly credentials: Credentials;
  /** For each request. */
  readonly timeoutMs: number;
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  /** Goes out as JSON. */
  readonly body?: object;
  /** Another form of the answer than the object itself. */
  readonly accept?: string;
  /** Bytes of the longest answer taken. */
  readonly maxBytes?: number;
  /** The right (RBAC) that few users have and that this needs: the hint of `kube.forbidden` names it. */
  readonly right?: string;
}

/** Bytes of the longest answer taken by default; the largest expected is a key list of some tens of kilobytes. */
const MAX_BYTES = 4 * 1024 * 1024;

const HINTS = {
  'kube.unreachable':
    'See whether kube-apiserver runs there and whether the bastion reaches its port (api.port, api.ports).',
  'kube.timeout':
    'See whether kube-apiserver is overloaded or its etcd is down; api.timeout is how long it is given.',
  'kube.tls': undefined,
  'kube.credentials':
    'See the user of the kubeconfig (api.kubeconfig, api.context): kubectl must get in with it.',
  'kube.unauthorized': 'The credentials of the kubeconfig are not accepted by this apiserver.',
  'kube.forbidden':
    'Give the user of the kubeconfig the right to do this; the README lists all that is needed.',
  'kube.conflict':
    'Somebody changed it, or used its token, since it was looked at. Run again: the plan starts from what is there then.',
  'kube.answer': 'See the log of this apiserver.',
} as const;

const hintFor = (target: ApiTarget, asked: ApiRequest, code: keyof typeof HINTS): string => {
  if (code === 'kube.forbidden' && asked.right !== undefined)
    return `Give the user of the kubeconfig a ClusterRole that may ${asked.right}, then run again. Only what looks at token Secrets needs it.`;
  return (
    HINTS[code] ??
    `The certificate must be of a CA in the kubeconfig and name ${target.serverName} (api.serverName in the cluster file).`
  );
};

/**
 * An error of this door; `why` follows the request in the message. It has no cause: what Node, zod and client-node throw can
 * quote what was read, and that may be a token.
 */
export const apiError = (
  target: ApiTarget,
  asked: ApiRequest,
  code: keyof typeof HINTS,
  why: string,
): CertrollError =>
  new CertrollError(`${target.host}: ${asked.method} ${target.url}${asked.path} ${why}`, {
    code,
    host: target.host,
    hint: hintFor(target, asked, code),
  });

/** One request. Throws `kube.unreachable`, `kube.tls`, `kube.timeout` and `kube.credentials`, never for a status. */
export const send = async (target: ApiTarget, asked: ApiRequest): Promise<HttpAnswer> => {
  let credentials: RequestOptions;
  try {
    credentials = await target.credentials();
  } catch (thrown) {
    throw apiError(target, asked, 'kube.credentials', `was not sent: ${messageOf(thrown)}`);
  }
  const body = asked.body === undefined ? undefined : JSON.stringify(asked.body);
  try {
    return await exchange(new URL(asked.path, target.url), {
      method: asked.method,
      headers: {
        ...(credentials.headers as OutgoingHttpHeaders | undefined),
        Accept: asked.accept ?? 'application/json, application/jwk-set+json, */*',
        'Content-Type': 'application/json',
        // Node sends the body of a DELETE without its length by itself, and the apiserver would not see the preconditions.
        ...(body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) }),
      },
      ...(body === undefined ? {} : { body }),
      // Checked whatever the environment (NODE_TLS_REJECT_UNAUTHORIZED) says.
      tls: { ...credentials, servername: target.serverName, rejectUnauthorized: true },
      timeoutMs: target.timeoutMs,
      maxBytes: asked.maxBytes ?? MAX_BYTES,
    });
  } catch (thrown) {
    const why = `gave no answer: ${failureText(thrown, target.timeoutMs)}`;
    throw apiError(target, asked, `kube.${failureKind(thrown)}`, why);
  }
};

/** The message of a Kubernetes Status object, or the start of whatever came instead, without a token. */
const reasonOf = (text: string): string => {
  let reason = text;
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    if (typeof message === 'string') reason = message;
  } catch {
    // A proxy answered, in HTML or not at all.
  }
  // As it is, and in base64 as a Secret holds it.
  const withoutTokens = reason
    .replaceAll(/eyJ[\w-]+\.[\w-]+\.[\w-]*/g, '[token]')
    .replaceAll(/ZXlK[\w+/=-]+/g, '[token]');
  return oneLine(withoutTokens).slice(0, 300);
};

const CODES: ReadonlyMap<number, keyof typeof HINTS> = new Map([
  [401, 'kube.unauthorized'],
  [403, 'kube.forbidden'],
  [409, 'kube.conflict'],
]);

/** The error for an answer that is not 2xx, by what can be done about it. */
export const refused = (
  target: ApiTarget,
  asked: ApiRequest,
  { status, text }: HttpAnswer,
): CertrollError => {
  const code = CODES.get(status) ?? 'kube.answer';
  return apiError(target, asked, code, `answered ${status}: ${reasonOf(text)}`);
};
