/**
 * The cluster's etcd as certroll uses it. Errors: `etcd.unreachable`, `etcd.tls`, `etcd.auth`,
 * `etcd.permission`, `etcd.no-quorum`, `etcd.timeout`, `etcd.refused`, each naming the endpoints and what to do.
 */
export interface Store {
  readonly endpoints: readonly string[];
  /** All keys under the prefix, with values. */
  list(prefix: string): Promise<ReadonlyMap<string, StoredValue>>;
  /**
   * Writes; with `expectRevision` only when the key's mod revision is that (0: must not exist), else `etcd.conflict`; with
   * `whileHeld` only while that lock's key is in etcd, else `lock.lost`.
   */
  put(
    key: string,
    value: string,
    options?: { readonly expectRevision?: string; readonly whileHeld?: LockKey },
  ): Promise<void>;
  delete(key: string): Promise<void>;
  /** Fails when there is no quorum (a linearizable read does not come back). */
  checkQuorum(): Promise<void>;
  mutex(name: string, options: MutexOptions): Mutex;
  /** Who holds the lock now and who waits, oldest first. Changes nothing. */
  lockHolders(name: string): Promise<readonly LockHolder[]>;
  close(): Promise<void>;
}

export interface StoredValue {
  readonly value: string;
  readonly modRevision: string;
}

export interface MutexOptions {
  /** Seconds. */
  readonly ttl: number;
  /** Longest wait, milliseconds; then `lock.timeout` (exit 5) naming the holder. */
  readonly waitMs: number;
  /** Stored as the key's value (JSON), readable with etcdctl get. */
  readonly holder: HolderInfo;
  /** Called when it is seen that someone else holds it, and again when that is another one. */
  readonly onWait?: (holder: LockHolder) => void;
  readonly signal?: AbortSignal;
}

export interface HolderInfo {
  /** user@host of the bastion. */
  readonly owner: string;
  readonly pid: number;
  readonly run: string;
  readonly reason: string;
  /** ISO 8601. */
  readonly since: string;
}

export interface LockHolder {
  /** The etcd key, `NAME/<lease id in hex>`. */
  readonly key: string;
  readonly createRevision: string;
  /** Undefined when the holder wrote no (readable) value, as etcdctl does. */
  readonly info: HolderInfo | undefined;
  /** Seconds its lease still has, and its full TTL; undefined when the lease is gone. */
  readonly lease: { readonly remaining: number; readonly granted: number } | undefined;
}

/** etcd's own mutex, key for key what `etcdctl lock NAME` uses. */
export interface Mutex {
  acquire(): Promise<HeldLock>;
}

/** A lock's own key in etcd; one of the same name that was made later is another. */
export interface LockKey {
  readonly key: string;
  readonly createRevision: string;
}

export interface HeldLock extends LockKey {
  /** Aborted (with a `lock.lost` error as reason) as soon as the lock can no longer be counted on. */
  readonly signal: AbortSignal;
  /** Throws `lock.lost` when the own deadline has passed. No I/O. */
  assertHeld(): void;
  /** Milliseconds for which it can be counted on, whatever happens to this process now; 0 when it is lost. No I/O. */
  leftMs(): number;
  /** Asks etcd: is the own key still there with its create revision, and the oldest? Throws `lock.lost`, or `etcd.*` when etcd cannot say. */
  recheck(): Promise<void>;
  release(): Promise<void>;
}
