import { CertrollError, EXIT } from '../core/errors.js';
import { objectUid } from './answers.js';
import type { ApiServer, ObjectRef } from './api-server.js';
import { listAll } from './list.js';
import { apiError, refused, send, type ApiRequest, type ApiTarget } from './request.js';
import { secretUsePage, TOKEN_TYPE, tokenSecretPage } from './secret-answers.js';

/** Only the metadata of an object: a token that is not needed does not cross the network. */
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

const pathOf = ({ namespace, name }: ObjectRef): string =>
  `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(name)}`;

/** A deletion that was sent and not answered: nobody knows whether it took place. */
const withUnknownOutcome = (thrown: unknown): unknown => {
  if (!(thrown instanceof CertrollError) || !['kube.timeout', 'kube.unreachable'].includes(thrown.code))
    return thrown;
  return new CertrollError(`${thrown.message}; nobody knows whether the Secret was deleted`, {
    code: thrown.code,
    exit: EXIT.unknown,
    ...(thrown.host !== undefined && { host: thrown.host }),
    hint: `${thrown.hint ?? ''} Then run again: the plan starts from what is there.`.trim(),
  });
};

/** What is asked of an apiserver about Secrets; part of `apiServer`. */
export const secretCalls = (
  target: ApiTarget,
): Pick<ApiServer, 'tokenSecrets' | 'secretsInUse' | 'secretUid' | 'deleteSecret'> => ({
  tokenSecrets: async () =>
    listAll(
      target,
      { path: '/api/v1/secrets', resource: 'secrets', fieldSelector: `type=${TOKEN_TYPE}` },
      tokenSecretPage,
    ),

  secretsInUse: async () =>
    listAll(
      target,
      {
        path: '/api/v1/pods',
        resource: 'pods',
        fieldSelector: 'status.phase!=Succeeded,status.phase!=Failed',
      },
      secretUsePage,
    ),

  async secretUid(secret) {
    const asked: ApiRequest = {
      method: 'GET',
      path: pathOf(secret),
      accept: METADATA,
      right: 'get secrets in all namespaces',
    };
    const answer = await send(target, asked);
    if (answer.status === 404) return undefined;
    if (answer.status !== 200) throw refused(target, asked, answer);
    const read = objectUid.safeParse(parsed(answer.text));
    if (read.success) return read.data;
    throw apiError(target, asked, 'kube.answer', 'gave an answer that is not understood');
  },

  async deleteSecret({ uid, resourceVersion, ...secret }) {
    const asked: ApiRequest = {
      method: 'DELETE',
      path: pathOf(secret),
      body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } },
      right: 'delete secrets in all namespaces',
    };
    let answer;
    try {
      answer = await send(target, asked);
    } catch (thrown) {
      throw withUnknownOutcome(thrown);
    }
    if (answer.status === 404 || (answer.status >= 200 && answer.status <= 299)) return;
    throw refused(target, asked, answer);
  },
});

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
