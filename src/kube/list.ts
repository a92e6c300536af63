import { z } from 'zod';
import { ask } from './ask.js';
import { apiError, type ApiRequest, type ApiTarget } from './request.js';

/** Objects a page: what kubectl asks for. */
const PAGE = 500;

/** Pages of a list: a million objects. An apiserver that always has one more would never be done. */
const MOST_PAGES = 2000;

/** Bytes of a page: pods with long histories of who manages which field take some 50 kilobytes each. */
const PAGE_BYTES = 64 * 1024 * 1024;

/** One page of a list, and what to ask for the next with. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
}

/** A page whose objects give any number of things each. */
export const pageOf = <T>(item: z.ZodType<readonly T[]>): z.ZodType<Page<T>> =>
  z
    .object({ metadata: z.object({ continue: z.string().optional() }).optional(), items: z.array(item) })
    .transform(({ metadata, items }) => ({ items: items.flat(), next: metadata?.continue || undefined }));

export interface ListRequest {
  readonly path: string;
  /** What the right to list is called in RBAC. */
  readonly resource: string;
  readonly fieldSelector?: string;
}

/** All pages of a list, as of one moment. */
export const listAll = async <T>(
  target: ApiTarget,
  { path, resource, fieldSelector }: ListRequest,
  schema: z.ZodType<Page<T>>,
): Promise<readonly T[]> => {
  const found: T[] = [];
  let next: string | undefined;
  let pages = 0;
  do {
    const query = new URLSearchParams({
      ...(fieldSelector !== undefined && { fieldSelector }),
      limit: String(PAGE),
    });
    if (next !== undefined) query.set('continue', next);
    const asked: ApiRequest = {
      method: 'GET',
      path: `${path}?${query.toString()}`,
      maxBytes: PAGE_BYTES,
      right: `list ${resource} in all namespaces`,
    };
    const page = await ask(target, asked, schema);
    if (page.next !== undefined && page.next === next)
      throw apiError(target, asked, 'kube.answer', 'gave the same page again: the list would never end');
    if ((pages += 1) > MOST_PAGES)
      throw apiError(
        target,
        asked,
        'kube.answer',
        `has more than ${MOST_PAGES} pages: the list would never end`,
      );
    found.push(...page.items);
    next = page.next;
  } while (next !== undefined);
  return found;
};
