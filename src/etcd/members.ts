import type { Etcd3, IOptions } from 'etcd3';
import { etcdFailure, isPassing, tellingCode, type EtcdCode, type MemberFailure } from './failures.js';
import { logInThrough } from './login.js';

/** What every call passes on to gRPC. */
export interface CallOptions {
  readonly deadline: number;
}

export type MembersOptions = Omit<IOptions, 'hosts' | 'auth' | 'faultHandling'> & {
  readonly endpoints: readonly string[];
  /** Milliseconds that one member may take to answer. */
  readonly timeoutMs: number;
  readonly auth?: { readonly username: string; readonly password: string };
};

export interface CallSettings {
  /** Milliseconds that one member may take, where it is not the usual time. */
  readonly timeoutMs?: number;
  /** Gives up early, with the signal's reason. What was sent may still take place. */
  readonly signal?: AbortSignal;
  /** Do not spend time on finding out why all members failed. */
  readonly brief?: boolean;
}

interface Member {
  readonly endpoint: string;
  readonly client: Etcd3;
}

/** A member that did not even let gRPC's own deadline fire. The name says what `codeOf` makes of it. */
class DeadlineError extends Error {}

/**
 * The members of an etcd cluster, one client each. A call goes to the member that answered last; when that one hangs
 * or is down, to the next. (etcd3's own choice among several hosts is random, and may stay on a member that hangs.)
 */
export class Members {
  readonly endpoints: readonly string[];
  readonly #members: readonly Member[];
  readonly #timeoutMs: number;
  readonly #extra: readonly Etcd3[];
  #current = 0;

  private constructor(members: readonly Member[], timeoutMs: number, extra: readonly Etcd3[]) {
    this.endpoints = members.map(({ endpoint }) => endpoint);
    this.#members = members;
    this.#timeoutMs = timeoutMs;
    this.#extra = extra;
  }

  /** Loads etcd3, which takes a while, and makes the clients. Connects with the first call. */
  static async open({ endpoints, timeoutMs, auth, ...options }: MembersOptions): Promise<Members> {
    const [{ Etcd3 }, { noop }] = await Promise.all([import('etcd3'), import('cockatiel')]);
    // No retries or circuit breakers of etcd3's own: they would hold calls back from a member that is up again.
    const faultHandling = { host: () => noop, global: noop };
    const logins: Etcd3[] = [];
    const members = endpoints.map((endpoint) => {
      const plain = { ...options, hosts: endpoint, faultHandling };
      if (!auth) return { endpoint, client: new Etcd3(plain) };
      const client = new Etcd3({ ...plain, auth });
      const login = new Etcd3(plain);
      logins.push(login);
      logInThrough(client, async () => {
        const answer = await login.auth.authenticate(
          { name: auth.username, password: auth.password },
          deadlineIn(timeoutMs),
        );
        return answer.token;
      });
      return { endpoint, client };
    });
    return new Members(members, timeoutMs, logins);
  }

  /** The client of the member that answered last, for streams. */
  get client(): Etcd3 {
    const member = this.#members[this.#current];
    if (!member) throw new Error('an etcd without endpoints');
    return member.client;
  }

  /** Makes a call, on each member in turn until one answers. Throws `etcd.*`; `what` completes "could not …". */
  async call<T>(
    what: string,
    use: (client: Etcd3, options: CallOptions) => Promise<T>,
    { timeoutMs = this.#timeoutMs, signal, brief = false }: CallSettings = {},
  ): Promise<T> {
    const failures: MemberFailure[] = [];
    const first = this.#current;
    for (let tried = 0; tried < this.#members.length; tried += 1) {
      signal?.throwIfAborted();
      const at = (first + tried) % this.#members.length;
      const member = this.#members[at];
      if (!member) break;
      try {
        const answer = await inTime(use(member.client, deadlineIn(timeoutMs)), timeoutMs, signal);
        this.#current = at;
        return answer;
      } catch (thrown) {
        signal?.throwIfAborted();
        failures.push({ endpoint: member.endpoint, thrown });
        if (!isPassing(thrown)) break;
      }
    }
    throw etcdFailure(what, failures, brief ? undefined : await this.#diagnose(failures));
  }

  close(): void {
    for (const client of [...this.#members.map((member) => member.client), ...this.#extra]) client.close();
  }

  /** A call that times out on members that are up means, more often than not, that they have no majority. */
  async #diagnose(failures: readonly MemberFailure[]): Promise<EtcdCode> {
    const code = tellingCode(failures);
    if (code !== 'etcd.timeout' && code !== 'etcd.unreachable') return code;
    const timeoutMs = Math.min(this.#timeoutMs, 2000);
    const states = await Promise.allSettled(
      this.#members.map(async ({ client }) =>
        inTime(client.maintenance.status(deadlineIn(timeoutMs)), timeoutMs),
      ),
    );
    const up = states.flatMap((state) => (state.status === 'fulfilled' ? [state.value] : []));
    if (up.length === 0) return code;
    const majority = Math.floor(this.#members.length / 2) + 1;
    return up.length < majority || up.some(({ leader }) => leader === '0') ? 'etcd.no-quorum' : code;
  }
}

const deadlineIn = (ms: number): CallOptions => ({ deadline: Date.now() + ms });

/** gRPC's deadline does not cover all of etcd3's own work (a login, a stream), so there is one more around it. */
const inTime = async <T>(call: Promise<T>, timeoutMs: number, signal?: AbortSignal): Promise<T> => {
  let end = (): void => undefined;
  const over = new Promise<never>((_resolve, reject) => {
    const timer = setTimeout(
      () => reject(new DeadlineError(`no answer in ${timeoutMs} ms`)),
      timeoutMs + 200,
    );
    const abort = (): void => reject(new Error('given up'));
    signal?.addEventListener('abort', abort);
    end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    };
  });
  try {
    return await Promise.race([call, over]);
  } finally {
    end();
  }
};
