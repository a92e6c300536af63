import type { z } from 'zod';
import { messageOf } from '../core/errors.js';
import type { ApiServer, ServiceAccountRef } from './api-server.js';
import { gitVersion, keyList, objectUid, tokenRequest, tokenReview } from './answers.js';
import { ask } from './ask.js';
import { counterIn } from './metrics.js';
import { processCertificate } from './process-certificate.js';
import { refused, send, type ApiTarget } from './request.js';
import { secretCalls } from './secrets.js';

/** One kube-apiserver at its own address; see `ApiServer`. */
export const apiServer = (target: ApiTarget): ApiServer => {
  const get = async <T>(path: string, schema: z.ZodType<T>): Promise<T> =>
    ask(target, { method: 'GET', path }, schema);
  const create = async <T>(path: string, kind: string, spec: object, schema: z.ZodType<T>): Promise<T> => {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind, spec };
    return ask(target, { method: 'POST', path, body }, schema);
  };
  const pathOf = ({ namespace, name }: ServiceAccountRef): string =>
    `/api/v1/namespaces/${encodeURIComponent(namespace)}/serviceaccounts/${encodeURIComponent(name)}`;

  return {
    host: target.host,
    url: target.url,

    jwks: async () => get('/openid/v1/jwks', keyList),

    async readyz() {
      try {
        const { status, text } = await send(target, { method: 'GET', path: '/readyz?verbose' });
        const failing = text.split('\n').filter((line) => line.startsWith('[-]'));
        return { ready: status === 200, detail: failing.join('; ') || `HTTP ${status}` };
      } catch (thrown) {
        return { ready: false, detail: messageOf(thrown) };
      }
    },

    version: async () => get('/version', gitVersion),

    processCertificate: async () => processCertificate(target),

    mintToken: async (account, ttlSeconds) =>
      create(`${pathOf(account)}/token`, 'TokenRequest', { expirationSeconds: ttlSeconds }, tokenRequest),

    reviewToken: async (token) =>
      create('/apis/authentication.k8s.io/v1/tokenreviews', 'TokenReview', { token }, tokenReview),

    serviceAccountUid: async (account) => get(pathOf(account), objectUid),

    async staleTokens() {
      const asked = { method: 'GET', path: '/metrics' } as const;
      const answer = await send(target, asked);
      if (answer.status !== 200) throw refused(target, asked, answer);
      return counterIn(answer.text, 'serviceaccount_stale_tokens_total');
    },

    ...secretCalls(target),
  };
};
