import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Playground } from '../../playground/playground.js';
import { start, type Finished } from '../../support/certroll.js';

const run = promisify(execFile);

/** Arguments and environment of every process there is, again and again until stopped. */
const watchProcesses = (): { readonly seen: Set<string>; readonly stop: () => Promise<void> } => {
  const seen = new Set<string>();
  let watching = true;
  const look = async (): Promise<void> => {
    while (watching) {
      for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
        for (const file of ['cmdline', 'environ'])
          seen.add(await readFile(`/proc/${pid}/${file}`, 'latin1').catch(() => ''));
      }
      // What is watched needs the processor too.
      await delay(20);
    }
  };
  const looking = look();
  return {
    seen,
    stop: async () => {
      watching = false;
      await looking;
    },
  };
};

/** How an audit asks whether a file holds a key at all; other tests audit hosts on this machine at the same time. */
const AUDIT_GREP = ['grep', '-q', 'PRIVATE KEY', '/dev/fd/3', ''].join('\0');

/** Pieces of a private key that could be found in a text: lines of its PEM body. */
const piecesOf = (pem: string): readonly string[] =>
  pem.split('\n').filter((line) => line.length >= 48 && !line.startsWith('-----'));

const filesBelow = async (folder: string): Promise<readonly string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
};

describe.each(['per-host', 'shared'] as const)('a rotation in %s mode', (mode) => {
  let dir: string;
  let bastion: string;
  let playground: Playground;
  let finished: Finished;
  let processes: ReadonlySet<string>;
  const keys: string[] = [];

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'cr-'));
    // Whatever certroll would leave on the bastion lies in here: state, home, temporary files.
    bastion = await mkdtemp(join(tmpdir(), 'cr-bastion-'));
    playground = await Playground.up({ dir, maxLife: 900 });
    const text = await readFile(playground.clusterFile, 'utf8');
    const clusterFile = join(dir, `cluster-${mode}.yaml`);
    await writeFile(clusterFile, `${text}\nserviceAccounts: { mode: ${mode} }\n`);
    const oldKeys = await Promise.all(
      playground.hosts.map(({ name: host }) => readFile(join(dir, host, 'sa.key'), 'utf8')),
    );
    const watch = watchProcesses();
    const running = await start(['run', 'rotate-sa-keys', '-c', clusterFile, '--yes', '--json', '--debug'], {
      stateDir: join(bastion, 'state'),
      env: { TMPDIR: bastion, HOME: bastion, XDG_STATE_HOME: bastion },
    });
    finished = await running.finished;
    await watch.stop();
    processes = watch.seen;
    const newKeys = await Promise.all(
      playground.hosts.map(({ name: host }) => readFile(join(dir, host, 'sa.key'), 'utf8')),
    );
    keys.push(...oldKeys, ...newKeys);
  }, 300_000);

  afterAll(async () => {
    await playground.down();
    await rm(bastion, { recursive: true, force: true });
  });

  it('ends 0 and gives the hosts the keys that the mode says', async () => {
    expect(finished.stderr).toBe('');
    expect(finished.exitCode).toBe(0);
    const fresh = new Set(keys.slice(3));
    expect(fresh.size).toBe(mode === 'shared' ? 1 : 3);
    for (const old of keys.slice(0, 3)) expect(fresh.has(old)).toBe(false);
    // The certificate beside the key is of that key, by openssl's word.
    for (const { name: host } of playground.hosts) {
      const at = (name: string): string => join(dir, host, name);
      const certified = await run('openssl', ['x509', '-in', at('sa.crt'), '-noout', '-pubkey']);
      const own = await run('openssl', ['pkey', '-in', at('sa.key'), '-pubout']);
      expect(certified.stdout).toBe(own.stdout);
    }
  });

  it('shows no private key in arguments or environment of any process', () => {
    const all = [...processes].filter((each) => each !== AUDIT_GREP).join('\n');
    expect(all).toContain('rotate-sa-keys');
    for (const piece of keys.flatMap(piecesOf)) expect(all.includes(piece)).toBe(false);
    expect(all).not.toContain('PRIVATE KEY');
  });

  it('leaves no private key on the bastion or in what it prints', async () => {
    const files = await filesBelow(bastion);
    expect(files.some((file) => file.endsWith('.jsonl'))).toBe(true);
    const texts = await Promise.all(files.map((file) => readFile(file, 'latin1')));
    for (const text of [...texts, finished.stdout, finished.stderr]) {
      expect(text).not.toContain('PRIVATE KEY');
      for (const piece of keys.flatMap(piecesOf)) expect(text.includes(piece)).toBe(false);
    }
  });

  it('leaves private keys readable by their owner alone, and none staged', async () => {
    for (const { name: host } of playground.hosts) {
      const listed = await run('find', [join(dir, host), '-name', 'sa.key*', '-printf', '%f %m\n']);
      const modes = new Map(
        listed.stdout
          .trim()
          .split('\n')
          .map((line) => line.split(' ') as [string, string]),
      );
      expect(modes.get('sa.key')).toBe('600');
      expect([...modes.keys()]).not.toContain('sa.key.certroll-next');
    }
  });
});
