import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { start, type Finished, type JsonEvent, type Running } from '../../support/certroll.js';
import { clusterFileWith, QUICK } from '../cluster-file.js';
import type { Lab } from '../lab.js';
import { Load, type LoadCounts } from '../load.js';
import { lockKeys, storedKeys, storedRotation } from '../registry.js';
import { CONTROL_PLANES, type HostSpec } from '../settings.js';
import { until } from '../wait.js';
import { overlapping, restartsSince } from './restarts.js';

/** What a fault came to, for the printed table. */
export interface Row {
  readonly fault: string;
  /** Moments at which it was made to happen. */
  readonly moments: number;
  /** Answers of 401 that clients got meanwhile. */
  readonly unauthorized: number;
  /** Pairs of restarts that overlapped, by systemd's own journal. */
  readonly overlaps: number;
  /** Runs until the rotation was done, interrupted ones included. */
  readonly runs: number;
  /** Keys of locks that were left in etcd. */
  readonly locks: number;
}

/** What certroll ended with, and the code of its error where it has one. */
export interface Ended extends Finished {
  readonly code: string | undefined;
}

/** After a fault, this many more runs must do. */
const MOST_RUNS = 3;

export type OnEvent = (event: JsonEvent, child: Running) => void;

/** True for that state of the entry of a host whose text holds that. */
export const entry =
  (state: 'started' | 'done', host: HostSpec, text: string) =>
  (event: JsonEvent): boolean =>
    event.type === 'entry' &&
    event['state'] === state &&
    event['host'] === host.fqdn &&
    String(event['text']).includes(text);

/** True when the restart of a host's service is just being sent. */
export const sent =
  (host: HostSpec) =>
  (event: JsonEvent): boolean =>
    event.type === 'progress' && event['host'] === host.fqdn && event['text'] === 'restart sent';

/** The n-th time that something is so, counted from 1. */
export const nth = (times: number, test: (event: JsonEvent) => boolean): ((event: JsonEvent) => boolean) => {
  let seen = 0;
  return (event) => test(event) && ++seen === times;
};

/** Does something once, at the first event of a kind; what it does is waited for at the end of the run. */
export class At {
  done: Promise<unknown> | undefined;
  /** What certroll told from then on. */
  readonly after: JsonEvent[] = [];

  constructor(
    readonly test: (event: JsonEvent) => boolean,
    readonly act: (child: Running) => Promise<unknown>,
  ) {}

  readonly onEvent: OnEvent = (event, child) => {
    if (this.done !== undefined) this.after.push(event);
    else if (this.test(event)) this.done = this.act(child);
  };
}

/** The stage that is set now, so that one whose test failed can be cleared. */
let current: Stage | undefined;

/** Ends the clients of a test that failed; true when there was one. */
export const clearStage = async (): Promise<boolean> => {
  const left = current;
  current = undefined;
  await left?.load.stop().catch(() => undefined);
  return left !== undefined;
};

/** One forced rotation under load that is interrupted by faults and run again until it is done. */
export class Stage {
  runs = 0;
  moments = 0;
  readonly #stateDir: string;

  private constructor(
    readonly lab: Lab,
    readonly clusterFile: string,
    readonly load: Load,
    readonly begun: Date,
    private readonly before: { known: ReadonlySet<string>; rotation: string | undefined },
    stateDir: string,
  ) {
    this.#stateDir = stateDir;
  }

  /** A sound cluster, clients that use it, and a cluster file for quick rotations. */
  static async set(lab: Lab, changes: readonly (readonly [RegExp, string])[] = []): Promise<Stage> {
    const clusterFile = await clusterFileWith(`fault-${Date.now()}`, [
      [/ttl: 30s/, 'ttl: 10s'],
      [/wait: 2m/, 'wait: 60s'],
      ...QUICK,
      [/settle: 0s/, 'settle: 0s, readyTimeout: 40s'],
      ...changes,
    ]);
    const stateDir = await mkdtemp(join(tmpdir(), 'certroll-faults-'));
    // The pace is a quarter of that of a rotation under load: dozens of runs share this machine with their clients.
    const load = await Load.start({ maxSeconds: 2400, tickMs: 200 });
    current = new Stage(lab, clusterFile, load, new Date(), await Stage.#look(lab), stateDir);
    return current;
  }

  static async #look(lab: Lab) {
    const keys = [...(await storedKeys(lab)), ...(await lab.matrix())];
    return { known: new Set(keys.map(({ kid }) => kid)), rotation: (await storedRotation(lab))?.id };
  }

  /** Another rotation, should a fault have come too late to interrupt the first. */
  async anew(): Promise<void> {
    Object.assign(this.before, await Stage.#look(this.lab));
  }

  get journals(): string {
    return join(this.#stateDir, 'lab');
  }

  /** Starts a run; it is forced until the rotation is open, and goes on by itself from then on. */
  async begin(onEvent?: OnEvent, options: { readonly stateDir?: string } = {}): Promise<Running> {
    const args = ['run', 'rotate-sa-keys', '-c', this.clusterFile, '--yes', '--json'];
    if ((await storedRotation(this.lab))?.id === this.before.rotation) args.push('--force');
    this.runs += 1;
    return start(args, {
      stateDir: options.stateDir ?? this.#stateDir,
      ...(onEvent && { onEvent }),
    });
  }

  /** A run that something happens to; gives how it ended, once the fault has had its way. */
  async befallen(at: At): Promise<Ended> {
    const finished = await (await this.begin(at.onEvent)).finished;
    if (at.done === undefined)
      throw new Error(
        `the moment never came; certroll ended with ${finished.exitCode ?? 'a signal'}: ${finished.stderr}`,
      );
    await at.done;
    this.moments += 1;
    const last = finished.stdout.trim().split('\n').at(-1) ?? '';
    const error = last.startsWith('{"type":"error"') ? (JSON.parse(last) as { code: string }) : undefined;
    return { ...finished, code: error?.code };
  }

  /** Waits until all is well, and runs until the rotation is done. */
  async complete(): Promise<void> {
    await this.lab.waitForHealth();
    let last: Finished | undefined;
    for (let more = 0; more < MOST_RUNS && last?.exitCode !== 0; more += 1)
      last = await (await this.begin()).finished;
    if (last?.exitCode !== 0)
      throw new Error(`running again did not finish: ${last?.exitCode ?? 'a signal'}: ${last?.stderr ?? ''}`);
  }

  /**
   * Waits until all is well, runs until the rotation is done, and says what it came to. A host that booted meanwhile
   * has loaded its files without a restart: `boots` is how many did.
   */
  async finish(fault: string, boots = 0): Promise<Row & { readonly counts: LoadCounts }> {
    await this.complete();
    const counts = await this.load.stop();
    current = undefined;
    await this.#judgeEnd();
    const restarts = await restartsSince(this.lab, this.begun);
    // Two of each apiserver is what a rotation takes; fewer seen would mean that nothing was looked at.
    expect(restarts.length).toBeGreaterThanOrEqual(2 * CONTROL_PLANES.length - boots);
    expect(counts.direct.requests).toBeGreaterThan(100);
    await until('no lock is left', 15, async () => (await this.#locks()) === 0).catch(() => undefined);
    return {
      fault,
      moments: this.moments,
      unauthorized: counts.direct.unauthorized + counts.balanced.unauthorized + counts.calico.unauthorized,
      overlaps: overlapping(restarts).length,
      runs: this.runs,
      locks: await this.#locks(),
      counts,
    };
  }

  /** What a rotation leaves, whatever befell it: one new signer a host, accepted by all, and nothing staged. */
  async #judgeEnd(): Promise<void> {
    expect(await storedRotation(this.lab)).toMatchObject({ state: 'done' });
    const fresh = (await storedKeys(this.lab)).filter(
      ({ kid, rotation }) => rotation !== undefined && !this.before.known.has(kid),
    );
    expect(fresh.map(({ state }) => state)).toEqual(CONTROL_PLANES.map(() => 'promoted'));
    const matrix = await this.lab.matrix();
    expect(matrix.map(({ status }) => status)).toEqual(Array(CONTROL_PLANES.length ** 2).fill(200));
    expect(new Set(matrix.map(({ kid }) => kid))).toEqual(new Set(fresh.map(({ kid }) => kid)));
    const find = ['find', '/etc/kubernetes/pki', '-name', '*.certroll-next'];
    const staged = await Promise.all(CONTROL_PLANES.map(({ name }) => this.lab.exec(name, find)));
    expect(staged.map(({ stdout }) => stdout.trim())).toEqual(CONTROL_PLANES.map(() => ''));
  }

  async #locks(): Promise<number> {
    const names = ['apiserver-restart', '/certroll/lab/run'];
    return (await Promise.all(names.map((name) => lockKeys(this.lab, name)))).flat().length;
  }
}

export const hashesOf = async (lab: Lab, host: HostSpec): Promise<string> =>
  (
    await lab.exec(host.name, [
      'sh',
      '-c',
      'cd /etc/kubernetes/pki && sha256sum sa.key sa.crt sa-verification-keys.pem',
    ])
  ).stdout;

export const table = (rows: readonly Row[]): string =>
  [
    'fault | moments tried | answers of 401 | restarts at once | runs needed | locks left',
    ...rows.map((row) =>
      [row.fault, row.moments, row.unauthorized, row.overlaps, row.runs, row.locks].join(' | '),
    ),
  ].join('\n');
