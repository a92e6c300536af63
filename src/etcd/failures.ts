import { CertrollError, messageOf } from '../core/errors.js';

/** What one member answered instead of doing what it was asked. */
export interface MemberFailure {
  readonly endpoint: string;
  readonly thrown: unknown;
}

export type EtcdCode =
  | 'etcd.permission'
  | 'etcd.auth'
  | 'etcd.tls'
  | 'etcd.no-quorum'
  | 'etcd.timeout'
  | 'etcd.unreachable'
  | 'etcd.refused';

const HINTS: Readonly<Record<EtcdCode, string>> = {
  'etcd.permission':
    "Give the role of this user readwrite on the prefixes of the lock (lock.name followed by '/') and of the registry (etcd.prefix): etcdctl role grant-permission ROLE --prefix=true readwrite PREFIX.",
  'etcd.auth': 'See etcd.user and etcd.password in the cluster file.',
  'etcd.tls':
    'See etcd.ca, etcd.cert and etcd.key in the cluster file, and etcd.serverName when the certificates carry another name than the endpoints.',
  'etcd.no-quorum':
    "A majority of the members must be up: see 'etcdctl endpoint status' and the members' logs.",
  'etcd.timeout': "A member hangs or is overloaded: see 'etcdctl endpoint status' and 'endpoint health'.",
  'etcd.unreachable':
    'See that etcd runs there and that this machine reaches it (etcd.endpoints in the cluster file).',
  'etcd.refused': 'etcd itself refused the request: see its message and its log.',
};

/** Most telling first: where members fail in different ways, this one is named. */
const TELLING: readonly EtcdCode[] = [
  'etcd.permission',
  'etcd.auth',
  'etcd.refused',
  'etcd.no-quorum',
  'etcd.tls',
  'etcd.timeout',
  'etcd.unreachable',
];

const TLS =
  /certificate|\bSSL|\bTLS\b|handshake|self[- ]signed|unable to verify|unable to get (local )?issuer|ERR_TLS|wrong version number/i;

/** gRPC status codes that mean that this member did not answer, as etcd3 names their classes. */
const STATUS: Readonly<Record<number, string>> = {
  1: 'Cancelled',
  2: 'Unknown',
  4: 'DeadlineExceeded',
  13: 'Internal',
  14: 'Unavailable',
};

/**
 * etcd3 has a class for each answer; it is imported lazily, so classes are known by name. Errors of streams come as gRPC
 * makes them, with a number.
 */
const classNameOf = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return '';
  const status = 'code' in thrown && typeof thrown.code === 'number' ? STATUS[thrown.code] : undefined;
  return status ?? thrown.constructor.name;
};

/** The code for what one member answered. */
export const codeOf = (thrown: unknown): EtcdCode => {
  const name = classNameOf(thrown);
  const message = messageOf(thrown);
  if (name === 'EtcdPermissionDeniedError' || message.includes('PERMISSION_DENIED')) return 'etcd.permission';
  if (/AuthenticationFailed|InvalidAuthToken|Unauthenticated/.test(name)) return 'etcd.auth';
  // etcd without users answers a login so.
  if (/authentication is not enabled|authentication failed|user name is empty/i.test(message))
    return 'etcd.auth';
  if (/etcdserver: (no leader|leader changed|request timed out|not capable|server stopped)/i.test(message))
    return 'etcd.no-quorum';
  if (TLS.test(message)) return 'etcd.tls';
  if (/Deadline/.test(name)) return 'etcd.timeout';
  if (message.startsWith('the keep-alive ended')) return 'etcd.unreachable';
  if (/Unavailable|Cancelled|Internal|Unknown|ClosedError|ClientRuntime/.test(name)) {
    return message.includes('etcdserver:') ? 'etcd.refused' : 'etcd.unreachable';
  }
  return 'etcd.refused';
};

/** Whether another member may do what this one could not: it hangs, is down or without a leader, or its certificate is bad. */
export const isPassing = (thrown: unknown): boolean =>
  ['etcd.no-quorum', 'etcd.timeout', 'etcd.unreachable', 'etcd.tls'].includes(codeOf(thrown));

/** The code to report for a call that failed on every member tried. */
export const tellingCode = (failures: readonly MemberFailure[]): EtcdCode => {
  const codes = new Set(failures.map(({ thrown }) => codeOf(thrown)));
  return TELLING.find((code) => codes.has(code)) ?? 'etcd.unreachable';
};

/** gRPC adds trailers of its own that say nothing to a reader. */
const plain = (thrown: unknown): string =>
  messageOf(thrown)
    .replace(/^\d+ [A-Z_]+: /, '')
    .replace(/\s*Resolution note:.*$/s, '')
    .replace(/,(LB pick|remote_addr|metadata filters|name resolution).*$/s, '')
    .trim();

/** The error of a call, with what each member answered and what to do. `what` completes "could not …". */
export const etcdFailure = (
  what: string,
  failures: readonly MemberFailure[],
  code: EtcdCode = tellingCode(failures),
): CertrollError => {
  const answers = failures.map(({ endpoint, thrown }) => `${endpoint}: ${plain(thrown)}`);
  return new CertrollError(`could not ${what} in etcd (${answers.join('; ')})`, {
    code,
    hint: HINTS[code],
    cause: failures.at(-1)?.thrown,
  });
};
