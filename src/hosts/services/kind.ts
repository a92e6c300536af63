import type { Timers } from '../../core/poll.js';
import type { Host, ServiceFact, ServiceSpec } from '../host.js';
import type { Clocks } from '../said.js';

/**
 * How one kind of service is looked at, what it would be started with, what must hold before it is restarted, and how that
 * is done. Whoever restarts something, for whatever reason, needs to know no more of it than this.
 */
export interface ServiceKind<S extends ServiceSpec> {
  /** Shell functions for the script that reads facts; they may use those of every kind's `library`. */
  readonly library: string;
  /** The call of one of them that looks at a service; `key` is the first word of each line that it says. */
  look(key: string, spec: S): readonly string[];
  /** What those lines tell. Pure. */
  read(lines: readonly SaidOfService[], clocks: Clocks, spec: S): ServiceFact;
  /** Why the service manager could not restart it now, in words for people; the files that it reads are not its business. */
  obstacles(spec: S, fact: ServiceFact, host: Host): Promise<readonly string[]>;
  /**
   * Has it restarted, and returns once the process that was seen before does not run any more, or another one does. Throws
   * the errors of the host, and `restart.*`; one with exit 6 when nobody knows what comes of it.
   */
  restart(spec: S, context: RestartContext): Promise<void>;
}

/** One line of the script about a service: what kind of line, and its words behind the key. */
export interface SaidOfService {
  readonly kind: string;
  readonly words: readonly string[];
}

export interface RestartContext {
  /** The host, fenced: a change that comes too late is not made. */
  readonly host: Host;
  /** Name of the service, for people and as the key of its facts. */
  readonly service: string;
  /** What has been seen of it since before this change, oldest first. */
  readonly seen: readonly ServiceFact[];
  /** Looks at it now. */
  readonly look: () => Promise<ServiceFact>;
  /** To be called right before the restart is sent: sees that the lock is held. Throws when it is not. */
  readonly beforeSending: () => Promise<void>;
  /** Whether it answers that it is ready; undefined for a service that cannot be asked. */
  readonly isReady: (() => Promise<boolean>) | undefined;
  /** Milliseconds within which a service must be well again. */
  readonly readyTimeoutMs: number;
  /** The time by the host's own clock, as start times of its processes are. */
  readonly now: () => Date;
  readonly timers: Timers;
  readonly signal: AbortSignal;
  readonly progress: (text: string) => void;
}

/** Whether two looks have seen one process. */
export const sameProcess = (a: ServiceFact, b: ServiceFact): boolean =>
  a.running && b.running && a.pid === b.pid && a.startTicks === b.startTicks;
