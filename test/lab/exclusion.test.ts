import { beforeAll, describe, expect, test } from 'vitest';
import { certroll, start, type JsonEvent } from '../support/certroll.js';
import { clusterFileWith } from './cluster-file.js';
import { Lab } from './lab.js';
import { BASTION, CONTROL_PLANES, hostNamed } from './settings.js';
import { lockKeys } from './registry.js';
import { until } from './wait.js';

const LOCK = 'apiserver-restart';

describe('the lock', () => {
  let lab: Lab;
  const restart = ['run', 'restart-apiservers', '-c', BASTION.clusterFile, '--yes', '--json'];
  const [first] = CONTROL_PLANES;

  beforeAll(async () => {
    lab = await Lab.up();
    await lab.restoreFault();
    await lab.trustEachOther();
  });

  /** etcdctl on a host, as the unit of another automation would run it. */
  const etcdctlLock = (host: string, command: readonly string[]) =>
    lab.exec(host, [
      'etcdctl',
      `--endpoints=https://${hostNamed(host).address}:2379`,
      '--cacert=/etc/kubernetes/pki/etcd/ca.crt',
      '--cert=/etc/kubernetes/pki/apiserver-etcd-client.crt',
      '--key=/etc/kubernetes/pki/apiserver-etcd-client.key',
      'lock',
      LOCK,
      '--',
      ...command,
    ]);

  /** etcdctl holds the lock on the first host until it is let go, and five seconds more. */
  const holdUntilReleased = () => {
    const host = first?.name ?? '';
    const sign = '/run/certroll-lab-let-go';
    const command = `rm -f ${sign}; while [ ! -e ${sign} ]; do sleep 0.2; done; sleep 5`;
    return {
      ended: etcdctlLock(host, ['sh', '-c', command]),
      release: () => lab.exec(host, ['touch', sign]),
    };
  };

  test('held by etcdctl on a host makes certroll wait and say who holds it', async () => {
    const held = holdUntilReleased();
    const [key] = await until('etcdctl has the lock', 20, async () => {
      const keys = await lockKeys(lab, LOCK);
      return keys.length > 0 && keys;
    });
    const events: JsonEvent[] = [];
    const running = await start(restart, {
      onEvent: (event) => {
        events.push(event);
        if (event.type === 'lock' && event['state'] === 'waiting') void held.release();
      },
    });
    const { exitCode } = await running.finished;
    await held.ended;
    expect(exitCode).toBe(0);
    const waiting = events.findIndex((event) => event.type === 'lock' && event['state'] === 'waiting');
    const acquired = events.findIndex((event) => event.type === 'lock' && event['state'] === 'acquired');
    const sent = events.findIndex((event) => event['text'] === 'restart sent');
    expect(events[waiting]?.['holder']).toContain(key);
    expect(waiting).toBeGreaterThan(-1);
    expect(acquired).toBeGreaterThan(waiting);
    expect(sent).toBeGreaterThan(acquired);
  });

  test('held by certroll makes etcdctl wait, and no two restarts ever overlap', async () => {
    const stamp = '/run/certroll-lab-etcdctl';
    await Promise.all(CONTROL_PLANES.map((host) => lab.exec(host.name, ['rm', '-f', stamp])));
    const times: { readonly what: string; readonly at: number }[] = [];
    let contender: Promise<unknown> | undefined;
    const running = await start(restart, {
      onEvent: (event) => {
        const at = Date.parse(String(event['at']));
        if (event.type === 'lock') times.push({ what: `certroll ${String(event['state'])}`, at });
        // As soon as certroll holds the lock, the other automation asks for it, to restart the last host.
        if (event.type === 'lock' && event['state'] === 'acquired' && !contender) {
          const host = CONTROL_PLANES[2]?.name ?? '';
          contender = etcdctlLock(host, [
            'sh',
            '-c',
            `date +%s%3N >${stamp}; systemctl restart kube-apiserver; date +%s%3N >>${stamp}`,
          ]);
        }
      },
    });
    const { exitCode } = await running.finished;
    await contender;
    expect(exitCode).toBe(0);
    const { stdout } = await lab.exec(CONTROL_PLANES[2]?.name ?? '', ['cat', stamp]);
    const [from = NaN, to = NaN] = stdout.trim().split('\n').map(Number);
    expect(to).toBeGreaterThan(from);
    const acquired = times.filter(({ what }) => what === 'certroll acquired').map(({ at }) => at);
    const released = times.filter(({ what }) => what === 'certroll released').map(({ at }) => at);
    expect(acquired).toHaveLength(3);
    expect(released).toHaveLength(3);
    // etcdctl's time with the lock lies in none of certroll's. All hosts share this machine's clock.
    for (const [turn, begin] of acquired.entries()) {
      const end = released[turn] ?? NaN;
      expect(to <= begin || from >= end).toBe(true);
    }
  });

  test('makes certroll give up with 5 and leave no key behind when it is not had in time', async () => {
    const held = holdUntilReleased();
    await until('etcdctl has the lock', 20, async () => (await lockKeys(lab, LOCK)).length > 0);
    const before = await Promise.all(
      CONTROL_PLANES.map((host) => lab.processStart(host.name, 'kube-apiserver')),
    );
    const short = await clusterFileWith('short-wait', [[/wait: 2m/, 'wait: 3s']]);
    const { exitCode, stderr } = await certroll(['run', 'restart-apiservers', '-c', short, '--yes']);
    expect(exitCode).toBe(5);
    expect(stderr).toMatch(/the lock apiserver-restart was not had within 3s; it is held by /);
    expect((await lockKeys(lab, LOCK)).length).toBe(1);
    await held.release();
    await held.ended;
    const after = await Promise.all(
      CONTROL_PLANES.map((host) => lab.processStart(host.name, 'kube-apiserver')),
    );
    expect(after).toEqual(before);
  });
});
