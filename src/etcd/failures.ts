import { CertrollError, messageOf } from '../core/errors.js';

/** Whether another member may do what this one could not: it hangs, is down, or has lost its leader. */
export const isPassing = (thrown: unknown): boolean => {
  const name = thrown instanceof Error ? thrown.constructor.name : '';
  return (
    /Unavailable|Deadline|Cancelled|Unknown|Internal|Aborted|ClientRuntime/.test(name) ||
    /no leader|timed out|timeout/i.test(messageOf(thrown))
  );
};

const TLS = /certificate|SSL|TLS|alert|handshake|self[- ]signed|unable to verify/i;

/** Code and hint of what etcd3 threw. */
const classify = (thrown: unknown): readonly [code: string, hint: string] => {
  const name = thrown instanceof Error ? thrown.constructor.name : '';
  const message = messageOf(thrown);
  if (name === 'EtcdPermissionDeniedError') {
    return [
      'etcd.permission',
      "Grant this user's role readwrite on the prefix of the lock (lock.name/) and of the registry (etcd.prefix/).",
    ];
  }
  if (/AuthenticationFailed|InvalidAuthToken|Unauthenticated/.test(name))
    return ['etcd.auth', 'See etcd.user and etcd.password in the cluster file.'];
  if (TLS.test(message)) {
    return [
      'etcd.tls',
      'See etcd.ca, etcd.cert and etcd.key in the cluster file, and etcd.serverName when the certificates carry another name than the endpoints.',
    ];
  }
  if (/no leader|leader changed|request timed out/i.test(message))
    return ['etcd.no-quorum', 'See etcdctl endpoint status: a majority of the members must be up.'];
  if (/Deadline/.test(name))
    return ['etcd.timeout', 'See etcdctl endpoint status: a member hangs, or a majority of them is down.'];
  return [
    'etcd.unreachable',
    'See whether etcd runs there and the bastion reaches it (etcd.endpoints in the cluster file).',
  ];
};

/** The error of an etcd call, with its endpoints and what to do. */
export const etcdFailure = (what: string, endpoints: readonly string[], thrown: unknown): CertrollError => {
  if (thrown instanceof CertrollError) return thrown;
  const [code, hint] = classify(thrown);
  return new CertrollError(`etcd at ${endpoints.join(', ')}: could not ${what}: ${messageOf(thrown)}`, {
    code,
    hint,
    cause: thrown,
  });
};
