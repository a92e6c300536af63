import { beforeAll, describe, expect, test } from 'vitest';
import { certroll, start, type JsonEvent } from '../support/certroll.js';
import { clusterFileWith } from './cluster-file.js';
import { Lab } from './lab.js';
import { Load } from './load.js';
import { lockKeys, storedKeys, storedRotation } from './registry.js';
import { CONTROL_PLANES } from './settings.js';

interface Moment {
  readonly what: string;
  /** True for the event right after which certroll is killed. */
  readonly at: (event: JsonEvent) => boolean;
}

const on = (host: number, event: JsonEvent): boolean => event['host'] === CONTROL_PLANES[host]?.fqdn;
const says = (event: JsonEvent, text: string): boolean => String(event['text']).includes(text);

/** Set by a matcher that waits for the second pass of restarts. */
let promoting = false;

const moments: readonly Moment[] = [
  {
    what: 'after the second key was generated',
    at: (event) =>
      event.type === 'entry' && event['state'] === 'done' && on(1, event) && says(event, 'generate'),
  },
  {
    what: 'while the first bundle is written',
    at: (event) =>
      event.type === 'entry' && event['state'] === 'started' && on(0, event) && says(event, 'public keys'),
  },
  {
    what: 'right after the second restart was sent',
    at: (event) => event.type === 'progress' && on(1, event) && says(event, 'restart sent'),
  },
  {
    what: 'between installing the second key and the restart that loads it',
    at: (event) =>
      event.type === 'entry' && event['state'] === 'done' && on(1, event) && says(event, 'install'),
  },
  {
    what: 'after the last restart, before the registry knows',
    at: (event) => {
      if (event.type === 'entry' && on(2, event) && says(event, 'install')) promoting = true;
      return (
        promoting &&
        event.type === 'entry' &&
        event['state'] === 'done' &&
        on(2, event) &&
        says(event, 'restart kube-apiserver')
      );
    },
  },
];

describe('certroll killed with SIGKILL and run again', () => {
  let lab: Lab;
  let clusterFile: string;

  beforeAll(async () => {
    lab = await Lab.up();
    await lab.restoreFault();
    // A short lease, so that the locks of the killed run are soon free.
    clusterFile = await clusterFileWith('short-lease', [
      [/ttl: 30s/, 'ttl: 10s'],
      [/wait: 2m/, 'wait: 60s'],
    ]);
    await lab.trustEachOther();
  });

  test.each(moments)('$what: ends 0, one new key per host, no answer of 401', async ({ at }) => {
    promoting = false;
    const known = new Set([...(await storedKeys(lab)), ...(await lab.matrix())].map((key) => key.kid));
    const args = ['run', 'rotate-sa-keys', '-c', clusterFile, '--yes', '--force', '--json'];
    const load = await Load.start();
    let killed = false;
    const running = await start(args, {
      onEvent: (event, child) => {
        if (killed || !at(event)) return;
        killed = true;
        child.kill('SIGKILL');
      },
    });
    const first = await running.finished;
    expect(killed).toBe(true);
    expect(first.signal).toBe('SIGKILL');

    const second = await certroll(args);
    const { direct } = await load.stop();
    expect(second.exitCode).toBe(0);

    const fresh = (await storedKeys(lab)).filter((key) => !known.has(key.kid));
    expect(fresh).toHaveLength(3);
    expect(new Set(fresh.map((key) => key.state))).toEqual(new Set(['promoted']));
    expect(new Set((await lab.matrix()).map(({ kid }) => kid))).toEqual(new Set(fresh.map((key) => key.kid)));
    expect((await lab.matrix()).map(({ status }) => status)).toEqual(Array(9).fill(200));
    expect(await storedRotation(lab)).toMatchObject({ state: 'done' });
    expect(direct.unauthorized).toBe(0);
    expect(await lockKeys(lab, 'apiserver-restart')).toEqual([]);
    const left = await Promise.all(
      CONTROL_PLANES.map((host) =>
        lab.exec(host.name, ['find', '/etc/kubernetes/pki', '-name', '*.certroll-next']),
      ),
    );
    expect(left.map(({ stdout }) => stdout.trim())).toEqual(['', '', '']);
  });
});
