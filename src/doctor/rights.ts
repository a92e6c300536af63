import type { AccessAttributes } from '../kube/access-review.js';
import type { ServiceAccountRef } from '../kube/api-server.js';
import { failed, ok, warning, type Verdict } from './check.js';

/** A right that some job needs. */
export interface Right {
  /** For people, as `kubectl auth can-i` would take it. */
  readonly text: string;
  readonly asked: AccessAttributes;
  /** What cannot be done without it. */
  readonly jobs: string;
  /** Without it there is no rotation; without the others some job does less. */
  readonly isNeeded: boolean;
}

const core = (
  verb: string,
  resource: string,
  more: Partial<Extract<AccessAttributes, { resource: string }>> = {},
): AccessAttributes => ({ verb, group: '', resource, ...more });

const AUDIT = 'audit';
const PURGE = 'purge-sa-token-secrets';

/** The right to look at the account that probe tokens are made for. */
export const accountRight = ({ namespace, name }: ServiceAccountRef): string =>
  `get serviceaccounts ${name} in ${namespace}`;

/** Everything that certroll asks of an apiserver; `probe` is the account that probe tokens are made for. */
export const rightsFor = (probe: ServiceAccountRef): readonly Right[] => {
  const { namespace, name } = probe;
  const every = { isNeeded: true, jobs: 'rotate-sa-keys, retire-sa-keys, status' };
  const some = (jobs: string) => ({ isNeeded: false, jobs });
  return [
    {
      text: `create serviceaccounts/token of ${name} in ${namespace}`,
      asked: core('create', 'serviceaccounts', { subresource: 'token', namespace, name }),
      ...every,
    },
    {
      text: accountRight(probe),
      asked: core('get', 'serviceaccounts', { namespace, name }),
      ...every,
    },
    {
      text: 'create tokenreviews',
      asked: { verb: 'create', group: 'authentication.k8s.io', resource: 'tokenreviews' },
      ...every,
    },
    { text: 'get /openid/v1/jwks', asked: { verb: 'get', path: '/openid/v1/jwks' }, ...every },
    { text: 'get /readyz', asked: { verb: 'get', path: '/readyz' }, ...every },
    { text: 'get /metrics', asked: { verb: 'get', path: '/metrics' }, ...some('retire-sa-keys') },
    {
      text: 'list secrets in all namespaces',
      asked: core('list', 'secrets'),
      ...some(`retire-sa-keys, ${PURGE}`),
    },
    { text: 'list pods in all namespaces', asked: core('list', 'pods'), ...some(PURGE) },
    { text: 'get secrets in all namespaces', asked: core('get', 'secrets'), ...some(PURGE) },
    { text: 'delete secrets in all namespaces', asked: core('delete', 'secrets'), ...some(PURGE) },
    { text: 'list configmaps in all namespaces', asked: core('list', 'configmaps'), ...some(AUDIT) },
    ...['validatingwebhookconfigurations', 'mutatingwebhookconfigurations'].map((resource) => ({
      text: `list ${resource}`,
      asked: { verb: 'list', group: 'admissionregistration.k8s.io', resource },
      ...some(AUDIT),
    })),
    {
      text: 'list apiservices',
      asked: { verb: 'list', group: 'apiregistration.k8s.io', resource: 'apiservices' },
      ...some(AUDIT),
    },
    {
      text: 'list certificatesigningrequests',
      asked: { verb: 'list', group: 'certificates.k8s.io', resource: 'certificatesigningrequests' },
      ...some(AUDIT),
    },
  ];
};

const apiGroup = (group: string): string => JSON.stringify(group);

/** The rule of a (Cluster)Role that gives a right, on one line. */
const ruleFor = (asked: AccessAttributes): string => {
  if ('path' in asked) return `{nonResourceURLs: ["${asked.path}"], verbs: ["${asked.verb}"]}`;
  const resource =
    asked.subresource === undefined ? asked.resource : `${asked.resource}/${asked.subresource}`;
  const names = asked.name === undefined ? '' : `, resourceNames: ["${asked.name}"]`;
  return `{apiGroups: [${apiGroup(asked.group)}], resources: ["${resource}"]${names}, verbs: ["${asked.verb}"]}`;
};

const roleFor = (asked: AccessAttributes): string =>
  'path' in asked || asked.namespace === undefined
    ? 'a ClusterRole, by a ClusterRoleBinding,'
    : `a Role in ${asked.namespace}, by a RoleBinding,`;

/** What the review of a right means. */
export const judgeRight = (
  right: Right,
  { allowed, reason }: { readonly allowed: boolean; readonly reason: string },
): Verdict => {
  if (allowed) return ok('allowed');
  const text = `the user of the kubeconfig may not ${right.text}${reason === '' ? '' : ` (${reason})`}; needed by ${right.jobs}`;
  const advice = `Give it ${roleFor(right.asked)} with the rule ${ruleFor(right.asked)}`;
  return right.isNeeded ? failed(text, advice) : warning(text, advice);
};
