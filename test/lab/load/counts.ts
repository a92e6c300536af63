/** What the clients that ask every apiserver at its own address saw. */
export interface DirectCounts {
  requests: number;
  ok: number;
  /** All answers of 401. */
  unauthorized: number;
  /**
   * Those of them that break something: all but refusals by an apiserver that refused that key when the load
   * began and has never accepted it since. In a cluster with the fault a faultless rotation has none.
   */
  newlyUnauthorized: number;
  /** No answer: the apiserver is restarting. */
  unreachable: number;
  /** Other statuses, by status: 503 of an apiserver that starts, and such. */
  other: Record<string, number>;
  /** Requests not sent because too many were without an answer. */
  skipped: number;
}

/** What the keep-alive clients that go through the load balancer saw. */
export interface BalancedCounts {
  requests: number;
  ok: number;
  unauthorized: number;
  /** No answer, or a status that is neither 200 nor 401, when all retries were done. */
  failed: number;
  /** Retried as client-go does: an idle connection was closed as the request was sent. */
  retriedIdle: number;
  /** Retried as client-go does: a 429 that says when to come again. */
  retriedLater: number;
}

/** What a client that makes a new connection each time, through the load balancer, saw. */
export interface CalicoCounts {
  requests: number;
  ok: number;
  unauthorized: number;
  failed: number;
}

/** One answer that was not what a client hopes for. */
export interface Mishap {
  readonly at: string;
  readonly client: 'direct' | 'balanced' | 'calico' | 'mint';
  readonly signer?: string;
  readonly kid?: string;
  readonly verifier?: string;
  readonly what: string;
}

export interface LoadCounts {
  seconds: number;
  minted: number;
  /** Kids of all tokens presented. */
  kids: string[];
  direct: DirectCounts;
  balanced: BalancedCounts;
  calico: CalicoCounts;
  /** The first of each kind, for the person who looks for the reason. */
  mishaps: Mishap[];
}

export const emptyCounts = (): LoadCounts => ({
  seconds: 0,
  minted: 0,
  kids: [],
  direct: {
    requests: 0,
    ok: 0,
    unauthorized: 0,
    newlyUnauthorized: 0,
    unreachable: 0,
    other: {},
    skipped: 0,
  },
  balanced: { requests: 0, ok: 0, unauthorized: 0, failed: 0, retriedIdle: 0, retriedLater: 0 },
  calico: { requests: 0, ok: 0, unauthorized: 0, failed: 0 },
  mishaps: [],
});

/** Of each kind of client: a long outage makes thousands, and those of one kind must not hide the others'. */
const MAX_MISHAPS = 100;

export const note = (counts: LoadCounts, mishap: Omit<Mishap, 'at'>): void => {
  const same = counts.mishaps.filter((each) => each.client === mishap.client);
  if (same.length < MAX_MISHAPS) counts.mishaps.push({ at: new Date().toISOString(), ...mishap });
};
