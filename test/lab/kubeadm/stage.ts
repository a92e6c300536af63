import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { start, type Finished, type JsonEvent, type Running } from '../../support/certroll.js';
import { clusterFileWith, QUICK } from '../cluster-file.js';
import type { KubeadmLab } from './lab.js';
import { until } from '../wait.js';
import { KUBEADM } from './settings.js';
import type { StaticPodProcess } from './static-pod.js';

/** What certroll ended with, the code of its error where it has one, and what it told. */
export interface Ended extends Finished {
  readonly code: string | undefined;
  readonly events: readonly JsonEvent[];
}

/** Something that is done once, at the first event of a kind, while certroll runs. */
export interface Interference {
  readonly at: (event: JsonEvent) => boolean;
  readonly act: (child: Running) => Promise<unknown>;
}

/** The progress of a restart on a host, by what is said of it. */
export const progress =
  (host: { readonly fqdn: string }, text: string) =>
  (event: JsonEvent): boolean =>
    event.type === 'progress' && event['host'] === host.fqdn && String(event['text']).startsWith(text);

/** The n-th time that something is so, counted from 1. */
export const nth = (times: number, test: (event: JsonEvent) => boolean): ((event: JsonEvent) => boolean) => {
  let seen = 0;
  return (event) => test(event) && ++seen === times;
};

/** A cluster file for quick restarts, so that what never comes is not waited for long. */
export const quickClusterFile = (): Promise<string> =>
  clusterFileWith(
    `quick-${Date.now()}`,
    [[/ttl: 30s/, 'ttl: 10s'], ...QUICK, [/settle: 0s/, 'settle: 0s, readyTimeout: 30s']],
    KUBEADM.bastion,
  );

/** Runs of one bastion on one lab. */
export class Bastion {
  private constructor(
    readonly clusterFile: string,
    readonly stateDir: string,
  ) {}

  static async set(): Promise<Bastion> {
    return new Bastion(await quickClusterFile(), await mkdtemp(join(tmpdir(), 'certroll-kubeadm-')));
  }

  /** A run to its end; throws when the moment for an interference never came. */
  async run(args: readonly string[], ...interferences: readonly Interference[]): Promise<Ended> {
    const events: JsonEvent[] = [];
    const done = new Map<Interference, Promise<unknown>>();
    const child = await start(['run', ...args, '-c', this.clusterFile, '--yes', '--json'], {
      stateDir: this.stateDir,
      onEvent: (event, running) => {
        events.push(event);
        for (const each of interferences)
          if (!done.has(each) && each.at(event)) done.set(each, each.act(running));
      },
    });
    const finished = await child.finished;
    if (done.size < interferences.length) {
      const how = finished.exitCode ?? 'a signal';
      throw new Error(`a moment never came; certroll ended with ${how}: ${finished.stderr}`);
    }
    await Promise.all(done.values());
    const error = events.findLast(({ type }) => type === 'error');
    return { ...finished, events, code: error && String(error['code']) };
  }
}

/**
 * The one process of a program on every control plane, once there is one on each: a controller-manager ends by itself when its
 * apiserver is away, and comes back some time later.
 */
export const processes = (
  lab: KubeadmLab,
  program = 'kube-apiserver',
): Promise<ReadonlyMap<string, StaticPodProcess>> =>
  until(`every control plane runs one ${program}`, 180, async () => {
    const found = new Map<string, StaticPodProcess>();
    for (const { name } of lab.controlPlanes) {
      const [process, second] = await lab.staticPod(name, program);
      if (!process || second) return undefined;
      found.set(name, process);
    }
    return found;
  });

/** Looks again and again at which apiservers are away, from outside of the hosts. */
export class Watch {
  readonly #stop = new AbortController();
  readonly #loop: Promise<void>;
  /** Looks at which two or more apiservers were away at once. */
  together = 0;
  /** Looks at which one was away. */
  alone = 0;

  constructor(lab: KubeadmLab) {
    this.#loop = this.#run(lab);
  }

  async #run(lab: KubeadmLab): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const running = await Promise.all(
        lab.controlPlanes.map(({ name }) => lab.staticPod(name, 'kube-apiserver')),
      );
      const away = running.filter((found) => found.length === 0).length;
      if (away === 1) this.alone += 1;
      if (away > 1) this.together += 1;
      await sleep(300, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    }
  }

  async end(): Promise<this> {
    this.#stop.abort();
    await this.#loop;
    return this;
  }
}
