import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStore } from '../../../src/etcd/connect.js';
import type { Store } from '../../../src/etcd/store.js';
import { mutexOf, TestEtcd } from '../../support/etcd.js';
import { runCtl } from '../../support/etcdctl.js';
import { failure } from '../../support/failure.js';

describe('the store', () => {
  let etcd: TestEtcd;
  let store: Store;
  beforeAll(async () => {
    etcd = await TestEtcd.start(1);
    store = await etcd.open();
  });
  afterAll(async () => etcd.stop());

  it('reads what it and etcdctl write under a prefix, and nothing beside it', async () => {
    await store.put('/t/a', 'one');
    await etcd.ctl('put', '/t/b', 'zwei — ✓');
    await etcd.ctl('put', '/t0', 'beside');
    const found = await store.list('/t/');
    expect([...found].map(([key, { value }]) => [key, value])).toEqual([
      ['/t/a', 'one'],
      ['/t/b', 'zwei — ✓'],
    ]);
    expect((await store.list('')).size).toBe(3);
    await store.delete('/t/a');
    expect([...(await store.list('/t/')).keys()]).toEqual(['/t/b']);
    await store.delete('/t/a');
  });

  it('refuses a write over a change by someone else', async () => {
    await store.put('/c/a', 'one');
    const revision = (await store.list('/c/')).get('/c/a')?.modRevision ?? '';
    await store.put('/c/a', 'two', { expectRevision: revision });
    const error = await failure(store.put('/c/a', 'three', { expectRevision: revision }));
    expect(error.code).toBe('etcd.conflict');
    expect((await etcd.ctl('get', '/c/a', '--print-value-only')).trim()).toBe('two');
  });

  it('writes a key that must not be there yet, once', async () => {
    await store.put('/c/new', 'one', { expectRevision: '0' });
    expect((await failure(store.put('/c/new', 'two', { expectRevision: '0' }))).code).toBe('etcd.conflict');
    expect((await store.list('/c/new')).get('/c/new')?.value).toBe('one');
  });

  it.each([
    ['another CA than that of the server', { ca: 'otherca.crt' }, 'etcd.tls'],
    ['no CA, where the system does not know that of the server', { ca: undefined }, 'etcd.tls'],
    ['no client certificate', { cert: undefined, key: undefined }, 'etcd.tls'],
    ['a client certificate of another CA', { cert: 'otherca.crt', key: 'otherca.key' }, 'etcd.tls'],
    ['a name that the server certificate does not carry', { serverName: 'else.test' }, 'etcd.tls'],
    ['a port that nobody listens on', { endpoints: ['https://127.0.0.1:1'] }, 'etcd.unreachable'],
    ['a name that does not resolve', { endpoints: ['https://nowhere.invalid:2379'] }, 'etcd.unreachable'],
    ['a login to an etcd that has no users', { user: 'me', password: { env: 'HOME' } }, 'etcd.auth'],
  ])('says what is wrong with %s', async (_what, settings, code) => {
    const wrong = await etcd.open(settings);
    const error = await failure(wrong.list('/'));
    expect(error).toMatchObject({ code, exit: 1 });
    expect(error.hint).toBeTruthy();
    expect(error.message).toContain(wrong.endpoints[0]);
  });

  it('does not wait for a server that never says a word', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const waiting = await etcd.open({ endpoints: [`https://127.0.0.1:${port}`], timeout: '200ms' });
    expect((await failure(waiting.list('/'))).code).toBe('etcd.timeout');
    silent.close();
  });

  it('goes past members that are down, hang or have a bad certificate', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const endpoints = ['https://127.0.0.1:1', `https://127.0.0.1:${port}`, ...etcd.endpoints];
    const lame = await etcd.open({ endpoints, timeout: '500ms' });
    await lame.put('/past', 'here');
    expect((await lame.list('/past')).size).toBe(1);
    silent.close();
  });

  it.each([
    [{ ca: 'missing.crt' }, 'etcd.ca cannot be read'],
    [{ key: undefined }, 'etcd.cert and etcd.key'],
    [{ user: 'me' }, 'etcd.user and etcd.password'],
    [{ endpoints: ['https://127.0.0.1:1', 'http://127.0.0.1:2'] }, 'mixes http and https'],
  ])('calls the cluster file wrong with %j', async (settings, why) => {
    const error = await failure(openStore(etcd.settings(settings), etcd.pki.dir));
    expect(error).toMatchObject({ code: 'cluster-file.invalid', exit: 2 });
    expect(error.message).toContain(why);
  });
});

describe('the store of an etcd with users', () => {
  let etcd: TestEtcd;
  const PASSWORD = 'correct horse';
  beforeAll(async () => {
    // The certificate carries a name only, so nothing passes without etcd.serverName.
    etcd = await TestEtcd.start(1, ['DNS:etcd.test']);
    process.env['CERTROLL_TEST_PASSWORD'] = PASSWORD;
    for (const args of [
      ['role', 'add', 'locking'],
      ['role', 'grant-permission', 'locking', '--prefix=true', 'readwrite', 'restart/'],
      ['user', 'add', 'root', '--no-password'],
      ['user', 'grant-role', 'root', 'root'],
      ['user', 'add', 'locker', '--no-password'],
      ['user', 'grant-role', 'locker', 'locking'],
      ['user', 'add', `person:${PASSWORD}`],
      ['user', 'grant-role', 'person', 'locking'],
      ['auth', 'enable'],
    ])
      await runCtl([...etcd.ctlArgs(), ...args]);
  });
  afterAll(async () => etcd.stop());

  const asLocker = { cert: 'locker.crt', key: 'locker.key', serverName: 'etcd.test' };
  const asPerson = {
    cert: 'stranger.crt',
    key: 'stranger.key',
    serverName: 'etcd.test',
    user: 'person',
    password: { env: 'CERTROLL_TEST_PASSWORD' },
  };

  it.each([
    ['a certificate', asLocker],
    ['a password', asPerson],
  ])('lets a user by %s with the prefix of the lock take it, and no more', async (_what, settings) => {
    const store = await etcd.open(settings);
    const held = await mutexOf(store, 'restart').acquire();
    await held.recheck();
    expect(await store.lockHolders('restart')).toHaveLength(1);
    await held.release();
    for (const refused of [
      async () => store.list('/certroll/'),
      async () => store.put('/certroll/a', 'x'),
      async () => store.checkQuorum(),
    ]) {
      const error = await failure(refused());
      expect(error.code).toBe('etcd.permission');
      expect(error.hint).toContain('grant-permission');
    }
    expect((await failure(mutexOf(store, 'other').acquire())).code).toBe('etcd.permission');
  });

  it('refuses a wrong password, and does not repeat it', async () => {
    const store = await etcd.open({ ...asPerson, password: { env: 'HOME' } });
    const error = await failure(store.list('restart/'));
    expect(error.code).toBe('etcd.auth');
    expect(JSON.stringify(error) + error.message + String(error.stack)).not.toContain(process.env['HOME']);
  });

  it('logs in again when the member has forgotten its tokens', async () => {
    const store = await etcd.open(asPerson);
    await store.list('restart/');
    await etcd.kill(0);
    expect((await failure(store.list('restart/'))).code).toBe('etcd.unreachable');
    await etcd.restart(0);
    expect((await store.list('restart/')).size).toBe(0);
  });
});
