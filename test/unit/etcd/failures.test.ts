import { describe, expect, it } from 'vitest';
import { codeOf, etcdFailure, isPassing, tellingCode } from '../../../src/etcd/failures.js';

/** What etcd3 throws, by the name of its class. */
const thrown = (className: string, message: string): Error =>
  new { [className]: class extends Error {} }[className]!(message);
/** What a gRPC stream throws: no class of etcd3's, a number. */
const streamError = (code: number, message: string): Error => Object.assign(new Error(message), { code });

const CASES: readonly (readonly [Error, string, passing: boolean])[] = [
  [
    thrown('EtcdPermissionDeniedError', '7 PERMISSION_DENIED: etcdserver: permission denied'),
    'etcd.permission',
    false,
  ],
  [
    thrown('EtcdAuthenticationFailedError', '3 INVALID_ARGUMENT: etcdserver: authentication failed'),
    'etcd.auth',
    false,
  ],
  [
    thrown('EtcdInvalidAuthTokenError', '16 UNAUTHENTICATED: etcdserver: invalid auth token'),
    'etcd.auth',
    false,
  ],
  [
    thrown(
      'GRPCUnavailableError',
      '14 UNAVAILABLE: No connection established. Last error: unable to verify the first certificate',
    ),
    'etcd.tls',
    true,
  ],
  [thrown('GRPCUnavailableError', '14 UNAVAILABLE: read ECONNRESET'), 'etcd.unreachable', true],
  [thrown('GRPCUnavailableError', '14 UNAVAILABLE: etcdserver: request timed out'), 'etcd.no-quorum', true],
  [thrown('GRPCUnknownError', '2 UNKNOWN: etcdserver: no leader'), 'etcd.no-quorum', true],
  [
    thrown('GRPCDeadlineExceededError', '4 DEADLINE_EXCEEDED: Deadline exceeded after 5.0s'),
    'etcd.timeout',
    true,
  ],
  [streamError(4, '4 DEADLINE_EXCEEDED: Deadline exceeded after 1.0s'), 'etcd.timeout', true],
  [streamError(14, '14 UNAVAILABLE: read ECONNRESET'), 'etcd.unreachable', true],
  [streamError(7, '7 PERMISSION_DENIED: etcdserver: permission denied'), 'etcd.permission', false],
  [
    thrown('GRPCResourceExhastedError', '8 RESOURCE_EXHAUSTED: etcdserver: mvcc: database space exceeded'),
    'etcd.refused',
    false,
  ],
];

describe('an error of etcd', () => {
  it.each(CASES)('%s is known for what it is', (error, code, passing) => {
    expect(codeOf(error)).toBe(code);
    expect(isPassing(error)).toBe(passing);
  });

  it('of several members is the most telling of theirs, and says what each answered', () => {
    const failures = [
      {
        endpoint: 'https://a:2379',
        thrown: thrown('GRPCUnavailableError', '14 UNAVAILABLE: connect ECONNREFUSED'),
      },
      { endpoint: 'https://b:2379', thrown: thrown('GRPCUnknownError', '2 UNKNOWN: etcdserver: no leader') },
    ];
    expect(tellingCode(failures)).toBe('etcd.no-quorum');
    const error = etcdFailure('read /x', failures);
    expect(error.message).toBe(
      'could not read /x in etcd (https://a:2379: connect ECONNREFUSED; https://b:2379: etcdserver: no leader)',
    );
    expect(error).toMatchObject({ code: 'etcd.no-quorum', exit: 1 });
    expect(error.hint).toContain('etcdctl endpoint status');
  });
});
