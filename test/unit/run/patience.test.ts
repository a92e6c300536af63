import { describe, expect, it } from 'vitest';
import { realTimers, type Timers } from '../../../src/core/poll.js';
import type { HostFacts, ManifestFact, ServiceFact } from '../../../src/hosts/host.js';
import { readPatiently } from '../../../src/run/patience.js';

const manifest: ManifestFact = { path: '/m', mounts: [] };
const up: ServiceFact = {
  running: true,
  pid: 1,
  startTicks: 1,
  startedAtMs: 1_000_000,
  argv: [],
  user: 'root',
  manifest,
};
const asked = (at: number): ServiceFact => ({
  ...up,
  manifest: { ...manifest, restartedAt: new Date(at).toISOString() },
});
const gone: ServiceFact = { running: false, detail: 'none', manifest };

const facts = (fact: ServiceFact): HostFacts => ({
  clockOffsetMs: 0,
  hostname: 'cp1',
  files: new Map(),
  services: new Map([['kube-controller-manager', fact]]),
  freeBytes: new Map(),
  notShared: [],
});

/** So many looks instead of so much time. */
const timers = (looks: number): Timers => ({
  ...realTimers,
  poll: async (look) => {
    for (let left = looks; left > 0; left -= 1) {
      const found = await look();
      if (found !== undefined) return found;
    }
    return undefined;
  },
});

const read = async (seen: readonly ServiceFact[], looks: number | undefined) => {
  const texts: string[] = [];
  let count = 0;
  const result = await readPatiently(
    () => Promise.resolve(facts(seen[Math.min(count++, seen.length - 1)]!)),
    looks === undefined
      ? undefined
      : { timers: timers(looks), timeoutMs: 1, signal: new AbortController().signal },
    (text) => texts.push(text),
  );
  return { fact: result.services.get('kube-controller-manager'), count, texts };
};

describe('a look at a host', () => {
  it.each<readonly [string, ServiceFact]>([
    ['is gone', gone],
    ['has two processes', { running: false, detail: 'two', isUnclear: true }],
    ['is older than a restart that was asked for', asked(1_060_000)],
  ])('waits for a static pod that %s', async (_what, fact) => {
    expect(await read([fact, fact, up], 9)).toEqual({
      fact: up,
      count: 3,
      texts: Array(2).fill('waiting for kubelet to have one kube-controller-manager running'),
    });
  });

  it.each<readonly [string, ServiceFact]>([
    ['runs', up],
    ['was restarted as it was asked for, by clocks that are a little apart', asked(1_010_000)],
    ['is a unit that does not run', { running: false, detail: 'inactive' }],
    [
      'has no manifest that kubelet could start it from',
      { ...gone, manifest: { ...manifest, problem: 'none' } },
    ],
  ])('does not wait for a service that %s', async (_what, fact) => {
    expect(await read([fact], 9)).toEqual({ fact, count: 1, texts: [] });
  });

  it('ends with what was seen last when the time is up, and without patience with the first', async () => {
    expect(await read([gone], 3)).toMatchObject({ fact: gone, count: 4 });
    expect(await read([gone, up], undefined)).toMatchObject({ fact: gone, count: 1 });
  });
});
