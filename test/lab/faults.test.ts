import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { killAtEveryLine } from './faults/kills.js';
import { At, clearStage, entry, hashesOf, nth, sent, Stage, table, type Row } from './faults/stage.js';
import { etcdLeader } from './faults/etcd.js';
import { Lab } from './lab.js';
import { lockKeys } from './registry.js';
import { CONTROL_PLANES, hostNamed, SA_FILES, type HostSpec } from './settings.js';
import { until } from './wait.js';

const LOCK = 'apiserver-restart';
const [cp1, cp2, cp3] = CONTROL_PLANES as readonly [HostSpec, HostSpec, HostSpec];

describe('a rotation that is befallen by a fault', () => {
  let lab: Lab;
  const rows: Row[] = [];

  beforeAll(async () => {
    lab = await Lab.up();
    await lab.restoreFault();
    await lab.trustEachOther();
  });

  // One that failed must not spoil the next: its clients end, and the cluster is sound again.
  afterEach(async () => {
    if (!(await clearStage())) return;
    await lab.restoreFault();
    await lab.trustEachOther();
  });

  afterAll(() => {
    process.stdout.write(`${table(rows)}\n`);
  });

  const processes = () =>
    Promise.all(CONTROL_PLANES.map(({ name }) => lab.processStart(name, 'kube-apiserver')));

  /** What must be so after every fault, whatever it was. */
  const judge = (row: Row): void => {
    rows.push(row);
    expect(row).toMatchObject({ unauthorized: 0, overlaps: 0, locks: 0 });
    expect(row.moments).toBeGreaterThan(0);
  };

  const onLock = (event: { readonly type: string; readonly [field: string]: unknown }): boolean =>
    event.type === 'lock' && event['state'] === 'acquired';

  test('kill -9 after every line of the journal', { timeout: 2_400_000 }, async () => {
    const stage = await Stage.set(lab);
    await killAtEveryLine(stage);
    judge(await stage.finish('kill -9 after each journal line'));
    expect(stage.moments).toBeGreaterThan(50);
  });

  test('a bundle that somebody changes, and certroll stopped past its lease while another automation restarts under the lock', async () => {
    const stage = await Stage.set(lab);
    const { bundle } = SA_FILES;
    const theirs = async (): Promise<string> => (await lab.exec(cp3.name, ['cat', bundle])).stdout;
    let written = '';
    const meddled = await stage.befallen(
      new At(entry('done', cp1, 'public keys'), async () => {
        await lab.exec(cp3.name, [
          'sh',
          '-ec',
          `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 | openssl pkey -pubout >>${bundle}`,
        ]);
        written = await theirs();
      }),
    );
    expect(meddled).toMatchObject({ exitCode: 1, code: 'host.changed' });
    expect(meddled.stderr).toContain(`${cp3.fqdn}: something else changed ${bundle}`);
    expect(await theirs()).toBe(written);

    /** Stops certroll, lets etcdctl on the third host have the lock and restart there, and lets certroll go on. */
    const stopped = (test: At['test']): At =>
      new At(test, async (child) => {
        child.kill('SIGSTOP');
        const { exitCode } = await lab.exec(cp3.name, [
          'etcdctl',
          `--endpoints=https://${cp3.address}:2379`,
          '--cacert=/etc/kubernetes/pki/etcd/ca.crt',
          '--cert=/etc/kubernetes/pki/apiserver-etcd-client.crt',
          '--key=/etc/kubernetes/pki/apiserver-etcd-client.key',
          ...['lock', LOCK, '--', 'systemctl', 'restart', 'kube-apiserver'],
        ]);
        child.kill('SIGCONT');
        return exitCode;
      });

    // It has the lock and has sent nothing: it must send nothing.
    const before = await lab.processStart(cp1.name, 'kube-apiserver');
    const first = await stage.befallen(stopped(nth(1, onLock)));
    expect(first.code).toMatch(/^lock\.(lost|too-late)$/);
    expect(await lab.processStart(cp1.name, 'kube-apiserver')).toEqual(before);

    // In the very moment of sending: the host's fence decides, whichever of the two was first.
    await lab.waitForHealth();
    const second = await stage.befallen(stopped(sent(cp1)));
    expect(second.exitCode).not.toBe(0);
    const row = await stage.finish('a bundle changed by somebody; SIGSTOP past the lease');
    // Their key was taken up, and is trusted by all from now on.
    const [key] = written.split('-----BEGIN PUBLIC KEY-----\n').slice(-1);
    for (const { name } of CONTROL_PLANES)
      expect((await lab.exec(name, ['cat', bundle])).stdout).toContain(key);
    judge(row);
  });

  test('the leader of etcd killed, then etcd without a quorum', async () => {
    const stage = await Stage.set(lab);
    const leader = await stage.befallen(
      new At(sent(cp1), async () => {
        const name = await etcdLeader(lab);
        await lab.exec(name, ['systemctl', 'kill', '--signal=KILL', 'etcd']);
      }),
    );
    // With two members left it may go on to the end, or stop and be run again.
    expect([0, 1, 6]).toContain(leader.exitCode);
    await lab.waitForHealth();
    // The quorum is lost early in a rotation of its own: near the end of one, it could be over before etcd has stopped.
    if (leader.exitCode !== 0) await stage.complete();
    await stage.anew();
    const lost = new At(onLock, async () => {
      await Promise.all([cp2, cp3].map(({ name }) => lab.exec(name, ['systemctl', 'stop', 'etcd'])));
    });
    const quorum = await stage.befallen(lost);
    expect(quorum.exitCode).not.toBe(0);
    // One restart may have been on its way when the quorum was lost; none is sent after it.
    expect(lost.after.filter(({ text }) => text === 'restart sent').length).toBeLessThan(2);
    await Promise.all([cp2, cp3].map(({ name }) => lab.exec(name, ['systemctl', 'start', 'etcd'])));
    judge(await stage.finish('etcd: leader killed; no quorum'));
  });

  test('a host that loses its power, hosts cut off right before and right after a restart is sent, and one that reboots', async () => {
    const stage = await Stage.set(lab);
    const off = await stage.befallen(
      new At(entry('done', cp2, 'public keys'), async () => lab.kill(cp2.name)),
    );
    expect([1, 4, 6]).toContain(off.exitCode);
    await lab.start(cp2.name);
    await lab.waitForHealth();

    const before = await stage.befallen(
      new At(entry('started', cp1, 'restart kube-apiserver'), async () => lab.cut(cp1.name)),
    );
    expect([1, 6]).toContain(before.exitCode);
    await lab.heal(cp1.name);
    await lab.waitForHealth();

    const after = await stage.befallen(new At(sent(cp2), async () => lab.cut(cp2.name)));
    // Nobody knows whether it arrived: never called done, never called failed.
    expect(after.exitCode).toBe(6);
    await lab.heal(cp2.name);
    await lab.waitForHealth();

    const reboot = await stage.befallen(
      new At(entry('done', cp3, 'install'), async () => {
        await lab.poweroff(cp3.name);
        await lab.start(cp3.name);
      }),
    );
    expect(reboot.exitCode).not.toBe(0);
    judge(await stage.finish('a host powered off; cut off before its restart, and after; rebooted', 2));
  });

  test('a disk that fills up while a bundle is written, and an SSH session that drops in the middle of a restart', async () => {
    const stage = await Stage.set(lab, [[/restart: \{/, 'thresholds: { freeSpace: 0 }\nrestart: {']]);
    const pki = '/etc/kubernetes/pki';
    const sh = (script: string) => lab.exec(cp1.name, ['sh', '-ec', script]);
    await sh(
      `cp -a ${pki} /root/pki && mount -t tmpfs -o size=256k tmpfs ${pki} && cp -a /root/pki/. ${pki}/`,
    );
    try {
      const before = await hashesOf(lab, cp1);
      const full = await stage.befallen(
        new At(entry('done', cp2, 'generate a signing key'), async () =>
          sh(`cat /dev/zero >${pki}/fill || :`),
        ),
      );
      expect(full).toMatchObject({ exitCode: 1, code: 'host.no-space' });
      expect(await hashesOf(lab, cp1)).toBe(before);
      const { stdout } = await sh(`ls -A ${pki}`);
      expect(stdout).not.toContain('.certroll-XXXX');
      expect(stdout.split('\n').filter((name) => name.startsWith('.'))).toEqual([]);
      await sh(`rm ${pki}/fill`);

      const dropped = await stage.befallen(
        new At(sent(cp1), async () => lab.exec(cp1.name, ['pkill', '-KILL', '-u', 'certroll', 'sshd'])),
      );
      expect(dropped.exitCode).toBe(6);
      judge(await stage.finish('disk full; SSH dropped mid-command'));
    } finally {
      await sh(
        `rm -rf /root/pki && cp -a ${pki} /root/pki && umount ${pki} && cp -a /root/pki/. ${pki}/ && rm -rf /root/pki`,
      );
    }
  });

  test('a clock that is wrong, and an apiserver that starts and never gets ready', async () => {
    const stage = await Stage.set(lab);
    const sh = (host: HostSpec, script: string) => lab.exec(host.name, ['sh', '-ec', script]);
    // All hosts share one clock: libfaketime gives the process that tells certroll the time another one.
    await sh(
      cp2,
      `lib=$(find /usr/lib -name libfaketime.so.1 | head -n 1); test -n "$lib"
       printf '#!/bin/sh\nLD_PRELOAD=%s FAKETIME=+600 exec /usr/bin/date "$@"\n' "$lib" >/usr/local/bin/date
       chmod 0755 /usr/local/bin/date`,
    );
    const early = await processes();
    const skewed = await (await stage.begin()).finished;
    stage.runs -= 1;
    await sh(cp2, 'rm -f /usr/local/bin/date');
    expect(skewed.exitCode).toBe(4);
    expect(skewed.stderr).toMatch(/its clock is (59|60)\d\.\d s off/);
    expect(await processes()).toEqual(early);
    stage.moments += 1;

    // With more keys in the bundle than now, this one starts and its readiness check of etcd never succeeds.
    await sh(
      cp1,
      `keys=$(grep -c BEGIN ${SA_FILES.bundle})
       cat >/usr/local/bin/fragile-apiserver <<EOF
#!/bin/sh
[ "\\$(grep -c BEGIN ${SA_FILES.bundle})" -le "$keys" ] || set -- "\\$@" --etcd-readycheck-timeout=1ns
exec /usr/local/bin/kube-apiserver "\\$@"
EOF
       chmod 0755 /usr/local/bin/fragile-apiserver
       mkdir -p /etc/systemd/system/kube-apiserver.service.d
       printf '[Service]\\nExecStart=\\nExecStart=/usr/local/bin/fragile-apiserver $DAEMON_ARGS\\n' >/etc/systemd/system/kube-apiserver.service.d/fragile.conf
       systemctl daemon-reload`,
    );
    const others = (await processes()).slice(1);
    const before = await hashesOf(lab, cp1);
    const fragile = await stage.befallen(new At(sent(cp1), () => Promise.resolve()));
    expect(fragile).toMatchObject({ exitCode: 1, code: 'restart.restored' });
    expect(await hashesOf(lab, cp1)).toBe(before);
    expect(await lab.ready(cp1.name)).toBe(true);
    expect((await processes()).slice(1)).toEqual(others);
    await sh(cp1, 'rm -r /etc/systemd/system/kube-apiserver.service.d && systemctl daemon-reload');
    judge(await stage.finish('clock 10 minutes off; apiserver never ready'));
  });

  test('a second certroll on another bastion', async () => {
    const stage = await Stage.set(lab);
    let second: Awaited<Awaited<ReturnType<Stage['begin']>>['finished']> | undefined;
    const first = await stage.befallen(
      new At(sent(cp1), async () => {
        // Another bastion has another state folder; what excludes the two is in etcd.
        const other = await mkdtemp(join(tmpdir(), 'certroll-other-'));
        second = await (await stage.begin(undefined, { stateDir: other })).finished;
      }),
    );
    expect(first.exitCode).toBe(0);
    // It waited for the first to end (or gave up waiting), and then found nothing left to do.
    expect([0, 5]).toContain(second?.exitCode);
    expect((await lockKeys(lab, LOCK)).length).toBe(0);
    judge(await stage.finish('a second certroll on another bastion'));
  });

  test('a fault that sleeps on the last host stops the run before the first is touched', async () => {
    const before = await processes();
    const client = '/etc/kubernetes/pki/apiserver-etcd-client';
    // The running apiserver has its connection to etcd; it would not get another one.
    await lab.exec(cp3.name, [
      'sh',
      '-ec',
      `cp -a ${client}.crt /root/keep; cp /etc/kubernetes/pki/front-proxy-client.crt ${client}.crt`,
    ]);
    try {
      const stage = await Stage.set(lab);
      const { exitCode, stderr } = await (await stage.begin()).finished;
      await clearStage();
      expect(exitCode).toBe(4);
      expect(stderr).toContain(
        `${hostNamed(cp3.name).fqdn}: its kube-apiserver could not start again: ${client}.crt`,
      );
      expect(await processes()).toEqual(before);
    } finally {
      await lab.exec(cp3.name, ['sh', '-ec', `cp -a /root/keep ${client}.crt; rm /root/keep`]);
      await until('every apiserver is ready', 30, async () => lab.ready(cp3.name));
    }
  });
});
