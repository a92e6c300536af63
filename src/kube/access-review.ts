import { z } from 'zod';
import { ask } from './ask.js';
import type { ApiTarget } from './request.js';

/** Something that RBAC allows or not: what is done to a resource, or to a path that is no resource. */
export type AccessAttributes =
  | {
      readonly verb: string;
      readonly group: string;
      readonly resource: string;
      readonly subresource?: string;
      /** Left out: in all namespaces. */
      readonly namespace?: string;
      readonly name?: string;
    }
  | { readonly verb: string; readonly path: string };

const answer = z.object({
  status: z.object({
    allowed: z.boolean().default(false),
    reason: z.string().optional(),
    evaluationError: z.string().optional(),
  }),
});

/**
 * Whether the user of the kubeconfig may do that: a SelfSubjectAccessReview, which is created and stored nowhere. Throws the
 * errors of `ask`.
 */
export const mayI = async (
  target: ApiTarget,
  attributes: AccessAttributes,
): Promise<{ readonly allowed: boolean; readonly reason: string }> => {
  const spec =
    'path' in attributes ? { nonResourceAttributes: attributes } : { resourceAttributes: attributes };
  const { status } = await ask(
    target,
    {
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec },
    },
    answer,
  );
  return { allowed: status.allowed, reason: status.reason ?? status.evaluationError ?? '' };
};
