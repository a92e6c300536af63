import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Checklist } from '../../../src/doctor/checklist.js';
import { clusterFileSchema } from '../../../src/cluster/schema.js';
import type { Cluster } from '../../../src/cluster/load.js';
import { RemoteHost } from '../../../src/hosts/remote-host.js';
import { checkEtcd } from '../../../src/run/doctor/etcd.js';
import { openDoctorDoors, type DoctorDoors } from '../../../src/run/doctor/doors.js';
import { checkSsh } from '../../../src/run/doctor/ssh.js';
import { TestEtcd } from '../../support/etcd.js';
import { runCtl } from '../../support/etcdctl.js';
import { LocalTransport } from '../../support/local-transport.js';

const inTurn = async <T>(work: () => Promise<T>): Promise<T> => work();

const clusterOf = (settings: object, baseDir: string): Cluster => ({
  ...clusterFileSchema.parse({
    name: 'prod',
    controlPlanes: { hosts: 'cp1' },
    etcd: { endpoints: ['https://127.0.0.1:1'] },
    api: { kubeconfig: './kubeconfig' },
    lock: { name: 'restart' },
    ...settings,
  }),
  baseDir,
  hosts: { controlPlanes: ['cp1'], nodes: [] },
});

describe('what doctor says of sudo', () => {
  const target = {
    ...{ name: 'cp1', hostname: '127.0.0.1', port: 22, user: 'operator', identityFiles: [], jumps: [] },
    ...{ keyName: { name: 'cp1', isAlias: false }, identitiesOnly: false, knownHostsFiles: [] },
  };
  const seenWith = async (sudo: string): Promise<Checklist> => {
    const transport = new LocalTransport({ user: 'operator' });
    transport.stub('sudo', sudo);
    const host = new RemoteHost('cp1', transport, { sudo: true });
    const list = new Checklist();
    const doors = openDoctorDoors(clusterOf({}, transport.dir), inTurn);
    await checkSsh(list, host, target, doors);
    await host.close();
    return list;
  };
  const WILLING = '[ "$1 $2" = "-n --" ] || exit 99; shift 2; exec "$@"';

  it.each([
    ['wants a password', 'echo "sudo: a password is required" >&2; exit 1', /wants a password/],
    ['knows the user not', 'echo "operator is not in the sudoers file." >&2; exit 1', /does not let/],
    ['is not installed', `echo "env: 'sudo': No such file or directory" >&2; exit 127`, /not installed/],
    ['makes another user than root', 'shift 2; echo 65534', /as the user 65534 there, not as root/],
  ])('that %s: only that fails', async (_what, script, text) => {
    const { checks } = await seenWith(script);
    expect(checks.filter(({ state }) => state !== 'ok')).toMatchObject([
      { id: 'sudo', state: 'failed', text: expect.stringMatching(text) as string },
    ]);
    const [sudo] = checks.filter(({ state }) => state === 'failed');
    expect(sudo).toMatchObject({ advice: expect.stringMatching(/NOPASSWD|Install sudo/) as string });
  });

  it('that lets the user in', async () => {
    const { checks } = await seenWith(WILLING.replace('exec "$@"', 'echo 0'));
    expect(checks.map(({ id, state }) => `${id} ${state}`)).toEqual([
      ...['name ok', 'tcp ok', 'host-key ok', 'login ok', 'sudo ok'],
    ]);
  });
});

describe('what doctor says of the rights in an etcd with users', () => {
  let etcd: TestEtcd;
  beforeAll(async () => {
    etcd = await TestEtcd.start(1);
    for (const args of [
      ['role', 'add', 'locking'],
      ['role', 'grant-permission', 'locking', '--prefix=true', 'readwrite', 'restart/'],
      ['role', 'grant-permission', 'locking', '--prefix=true', 'read', '/certroll/'],
      ['user', 'add', 'root', '--no-password'],
      ['user', 'grant-role', 'root', 'root'],
      ['user', 'add', 'locker', '--no-password'],
      ['user', 'grant-role', 'locker', 'locking'],
      ['auth', 'enable'],
    ])
      await runCtl([...etcd.ctlArgs(), ...args]);
  });
  afterAll(async () => etcd.stop());

  const seenBy = async (user: 'root' | 'locker' | 'stranger'): Promise<Checklist> => {
    const settings = { cert: `${user}.crt`, key: `${user}.key`, ca: 'ca.crt', endpoints: etcd.endpoints };
    const doors: DoctorDoors = openDoctorDoors(clusterOf({ etcd: settings }, etcd.pki.dir), inTurn);
    const list = new Checklist();
    await checkEtcd(list, doors);
    return list;
  };
  const statesOf = ({ checks }: Checklist): readonly string[] =>
    checks.map(({ id, state }) => `${id} ${state}`);

  it('everything is well for one who may do everything, and nothing was written', async () => {
    const before = await etcd.ctl('get', '', '--prefix', '--write-out=json');
    expect(statesOf(await seenBy('root'))).toEqual([
      ...['etcd-member ok', 'etcd-registry ok', 'etcd-lock ok'],
    ]);
    const revision = (text: string): unknown =>
      (JSON.parse(text) as { header: { revision: number } }).header.revision;
    expect(revision(await etcd.ctl('get', '', '--prefix', '--write-out=json'))).toBe(revision(before));
  });

  it('one who may read the registry and not write it', async () => {
    const list = await seenBy('locker');
    expect(statesOf(list)).toEqual(['etcd-member ok', 'etcd-registry failed', 'etcd-lock ok']);
    expect(list.checks[1]).toMatchObject({
      advice: expect.stringContaining('grant-permission') as string,
    });
  });

  it('a certificate of a user that there is not', async () => {
    expect(statesOf(await seenBy('stranger'))).toEqual([
      ...['etcd-member ok', 'etcd-registry failed', 'etcd-lock failed'],
    ]);
  });

  it('a lock key without a lease, which stays for ever', async () => {
    await etcd.ctl('put', 'restart/abc', '');
    const { checks } = await seenBy('root');
    await etcd.ctl('del', 'restart/abc');
    expect(checks.at(-1)).toMatchObject({
      state: 'warning',
      advice: expect.stringContaining("etcdctl del 'restart/abc'") as string,
    });
  });
});
