import type { z } from 'zod';
import { apiError, refused, send, type ApiRequest, type ApiTarget } from './request.js';

/** One request and what its answer says. Throws the errors of `send`, that of a status that is not 2xx, and `kube.answer`. */
export const ask = async <T>(target: ApiTarget, asked: ApiRequest, schema: z.ZodType<T>): Promise<T> => {
  const answer = await send(target, asked);
  if (answer.status < 200 || answer.status > 299) throw refused(target, asked, answer);
  let value: unknown;
  try {
    value = JSON.parse(answer.text);
  } catch {
    throw apiError(target, asked, 'kube.answer', 'gave an answer that is not JSON');
  }
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  // Of what is wrong, the place and the kind, not the value: it may be a token.
  const [issue] = read.error.issues;
  const what = issue ? ` (${issue.path.join('.')}: ${issue.message})` : '';
  throw apiError(target, asked, 'kube.answer', `gave an answer that is not understood${what}`);
};
