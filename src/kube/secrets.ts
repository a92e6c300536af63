import type { z } from 'zod';
import { CertrollError, EXIT } from '../core/errors.js';
import { objectUid } from './answers.js';
import type { ApiServer, ObjectRef } from './api-server.js';
import { ask } from './ask.js';
import { apiError, refused, send, type ApiRequest, type ApiTarget } from './request.js';
import { secretUsePage, TOKEN_TYPE, tokenSecretPage, type Page } from './secret-answers.js';

/** Objects a page: what kubectl asks for. */
const PAGE = 500;

/** Bytes of a page: pods with long histories of who manages which field take some 50 kilobytes each. */
const PAGE_BYTES = 64 * 1024 * 1024;

/** Only the metadata of an object: a token that is not needed does not cross the network. */
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

const pathOf = ({ namespace, name }: ObjectRef): string =>
  `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(name)}`;

/** All pages of a list, as of one moment. */
const listAll = async <T>(
  target: ApiTarget,
  { resource, fieldSelector }: { readonly resource: string; readonly fieldSelector: string },
  schema: z.ZodType<Page<T>>,
): Promise<readonly T[]> => {
  const found: T[] = [];
  let next: string | undefined;
  do {
    const query = new URLSearchParams({ fieldSelector, limit: String(PAGE) });
    if (next !== undefined) query.set('continue', next);
    const asked: ApiRequest = {
      method: 'GET',
      path: `/api/v1/${resource}?${query.toString()}`,
      maxBytes: PAGE_BYTES,
      right: `list ${resource} in all namespaces`,
    };
    const page = await ask(target, asked, schema);
    if (page.next !== undefined && page.next === next)
      throw apiError(target, asked, 'kube.answer', 'gave the same page again: the list would never end');
    found.push(...page.items);
    next = page.next;
  } while (next !== undefined);
  return found;
};

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
    listAll(target, { resource: 'secrets', fieldSelector: `type=${TOKEN_TYPE}` }, tokenSecretPage),

  secretsInUse: async () =>
    listAll(
      target,
      { resource: 'pods', fieldSelector: 'status.phase!=Succeeded,status.phase!=Failed' },
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
