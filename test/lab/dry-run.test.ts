import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { certroll, resultOf, start, type JsonEvent } from '../support/certroll.js';
import { clusterFileWith, QUICK } from './cluster-file.js';
import { Lab } from './lab.js';
import { CONTROL_PLANES } from './settings.js';

interface Entry {
  readonly id: string;
  readonly kind: string;
  readonly host?: string;
  readonly text: string;
}

/** What a dry run must leave as it is, on all hosts and in etcd. */
const snapshot = async (lab: Lab) => {
  const files = await Promise.all(
    CONTROL_PLANES.map(async (host) => {
      const script =
        'find /etc /run/systemd/system /home/certroll /root /tmp -xdev -type f -printf "%p %T@ %C@ %m %u %g\\n" -exec sha256sum {} + | sort';
      const { stdout } = await lab.exec(host.name, ['sh', '-c', script]);
      return { lines: stdout.split('\n').length, hash: createHash('sha256').update(stdout).digest('hex') };
    }),
  );
  const processes = await Promise.all(
    CONTROL_PLANES.flatMap((host) =>
      ['kube-apiserver', 'kube-controller-manager', 'etcd'].map((unit) => lab.processStart(host.name, unit)),
    ),
  );
  // The control plane itself writes its leases and endpoints all the time; every other key must keep its revision.
  const text = await lab.etcdctl(['get', '', '--prefix', '--keys-only', '--write-out=json']);
  const { kvs } = JSON.parse(text) as { kvs: { key: string; mod_revision: number }[] };
  const keys = kvs
    .map(({ key, mod_revision }) => `${Buffer.from(key, 'base64').toString()} ${mod_revision}`)
    .filter((line) => !/^\/registry\/(leases|masterleases|events|ranges)\//.test(line));
  return { files, processes, keys };
};

describe('certroll run rotate-sa-keys --dry-run', () => {
  let lab: Lab;

  beforeAll(async () => {
    lab = await Lab.up();
    await lab.restoreFault();
  });

  test('changes nothing, and lists the very changes that the run then makes', async () => {
    const args = ['run', 'rotate-sa-keys', '-c', await clusterFileWith('dry-run', QUICK)];
    const before = await snapshot(lab);
    expect(before.files.every(({ lines }) => lines > 50)).toBe(true);
    const dry = await certroll([...args, '--dry-run', '--json']);
    const after = await snapshot(lab);
    expect(dry.exitCode).toBe(3);
    expect(after).toEqual(before);

    const planned = resultOf(dry)['changes'] as readonly Entry[];
    const made: JsonEvent[] = [];
    const running = await start([...args, '--yes', '--json'], {
      onEvent: (event) => {
        if (event.type === 'entry' && event['state'] === 'done') made.push(event);
      },
    });
    const { exitCode } = await running.finished;
    expect(exitCode).toBe(0);
    // The id of a rotation is that of the run that begins it; all else is the same to the letter.
    const shown = ({ id, host, text }: JsonEvent): string =>
      `${String(id)} ${typeof host === 'string' ? host : '-'} ${String(text).replace(/\d{8}T\d{6}Z-[0-9a-f]{6}/, 'ROTATION')}`;
    expect(made.map(shown)).toEqual(planned.map((entry) => shown({ type: 'entry', ...entry })));
    expect(planned.length).toBeGreaterThan(20);
  });

  test('exits 0 when there is nothing to do', async () => {
    const { exitCode } = await certroll(['plan', 'rotate-sa-keys', '-c', lab.bastion.clusterFile]);
    expect(exitCode).toBe(0);
  });
});
