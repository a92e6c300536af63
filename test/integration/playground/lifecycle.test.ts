import { execa } from 'execa';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, it } from 'vitest';
import { until } from '../../lab/wait.js';
import { Playground } from '../../playground/playground.js';
import { runTypeScript } from '../../playground/settings.js';
import { certroll } from '../../support/certroll.js';
import { scratch } from './scratch.js';

const one = scratch('pg-one');
const two = scratch('pg-two');
const foreign = scratch('pg-foreign');

const up = async (dir: string): Promise<Playground> => Playground.up({ dir, maxLife: 900 });

/** A process that waits to be reaped has ended too. */
const isAlive = async (pid: number): Promise<boolean> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat !== '' && !/\) [ZX] /.test(stat);
};

const alive = async (pids: readonly number[]): Promise<readonly number[]> => {
  const found = await Promise.all(pids.map(async (pid) => ((await isAlive(pid)) ? [pid] : [])));
  return found.flat();
};

/** A remote command over the playground's own sshd. */
const ssh = (playground: Playground, ...command: readonly string[]) =>
  execa('ssh', ['-F', join(playground.dir, 'ssh_config'), playground.hosts[0].name, ...command], {
    reject: false,
  });

afterEach(async () => {
  await Promise.all(
    [one, two].map(async (dir) =>
      Playground.attach(dir)
        .down()
        .catch(() => undefined),
    ),
  );
});

describe('several playgrounds', () => {
  it('run at once, started in the same moment, and the end of one is not the end of the other', async () => {
    const [first, second] = await Promise.all([up(one), up(two)]);
    for (const playground of [first, second]) {
      const { exitCode, stderr } = await certroll(['status', '-c', playground.clusterFile]);
      // It has reached everything, and found the fault.
      expect({ exitCode, stderr }).toMatchObject({ exitCode: 3 });
    }

    const pids = await second.pids();
    await first.down();

    expect(await alive(pids)).toEqual(pids);
    expect([...(await second.servers()).values()]).not.toContain(false);
  });
});

describe('down', () => {
  it('leaves no process and no file, also of what was started over SSH', async () => {
    const playground = await up(one);
    const [host] = playground.hosts;
    const restart = await ssh(playground, host.path('ctl'), 'restart');
    expect(restart.exitCode).toBe(0);
    const session = ssh(playground, 'echo here; exec sleep 3600');
    for await (const line of createInterface({ input: session.stdout })) {
      expect(line).toBe('here');
      break;
    }
    const pids = await playground.pids();
    expect(pids.length).toBeGreaterThan(8);

    await playground.down();

    expect(await alive(pids)).toEqual([]);
    expect(await playground.pids()).toEqual([]);
    expect(existsSync(one)).toBe(false);
    expect((await session).exitCode).not.toBe(0);
  });

  it('spares a stranger that has got a recorded pid', async () => {
    const playground = await up(one);
    const stranger = execa('sleep', ['3600'], { reject: false });
    await writeFile(join(one, 'etcd/etcd.pid'), `${stranger.pid ?? 0}\n`);
    await playground.down();
    expect(await isAlive(stranger.pid ?? 0)).toBe(true);
    stranger.kill('SIGKILL');
  });

  it('does not remove a folder that is not of a playground, nor does up', async () => {
    await mkdir(foreign, { recursive: true });
    const file = join(foreign, 'thesis.txt');
    await writeFile(file, 'mine');
    await expect(Playground.attach(foreign).down()).rejects.toThrow('is not a playground');
    await expect(up(foreign)).rejects.toThrow('is not a playground');
    expect(await readFile(file, 'utf8')).toBe('mine');
  });
});

describe('up', () => {
  it('ends what an earlier one left, and begins with new keys', async () => {
    const first = await up(one);
    const key = await readFile(first.hosts[0].path('sa.crt'), 'utf8');
    const pids = await first.pids();

    const second = await up(one);

    expect(await alive(pids)).toEqual([]);
    expect(await readFile(second.hosts[0].path('sa.crt'), 'utf8')).not.toBe(key);
    expect([...(await second.servers()).values()]).not.toContain(false);
  });

  it('refuses a folder whose path sshd or a shell would read otherwise', async () => {
    await expect(up(`${one} and more`)).rejects.toThrow('Choose a folder');
  });

  it('ends what it has started when it is told to give up', async () => {
    const giveUp = new AbortController();
    const starting = Playground.up({ dir: one, maxLife: 900, signal: giveUp.signal });
    await until('etcd is started', 60, () => Promise.resolve(existsSync(join(one, 'etcd/etcd.pid'))));
    giveUp.abort(new Error('no more'));
    await expect(starting).rejects.toThrow('no more');
    expect(await Playground.attach(one).pids()).toEqual([]);
  });
});

describe('the watchdog', () => {
  it('ends everything when its time is over', async () => {
    const playground = await up(one);
    const pids = await playground.pids();
    const watchdog = (await readFile(join(one, 'watchdog.pid'), 'utf8')).trim();
    // Its time, made short.
    const { exitCode } = await execa('pkill', ['-P', watchdog, '-x', 'sleep']);
    expect(exitCode).toBe(0);
    await until('everything has ended', 60, async () => (await alive(pids)).length === 0);
    expect(await playground.pids()).toEqual([]);
  });
});

describe('the command', () => {
  const command = (...args: readonly string[]) => {
    const [program = '', ...first] = runTypeScript('cli.ts');
    return execa(program, [...first, ...args, '--dir', one], { reject: false });
  };

  it('leaves one alone that was left to be used, says how its lock is tried, and replaces other rests', async () => {
    const playground = await up(one);
    const rest = await playground.pids();
    const { stdout } = await command('up', '--max-life', '900');
    expect(stdout).toMatch(/etcdctl --endpoints https:\/\/127\.0\.0\.1:\d+ .* lock apiserver-restart/);
    expect(await alive(rest)).toEqual([]);

    const pids = await playground.pids();
    for (const words of [['up'], []]) {
      const { exitCode, stderr } = await command(...words);
      expect(exitCode).toBe(1);
      expect(stderr).toContain(`A playground runs in ${one}. Stop it first`);
    }
    expect(await alive(pids)).toEqual(pids);
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('stops everything on %s', async (signal) => {
    const [program = '', ...args] = runTypeScript('cli.ts');
    const child = execa(program, [...args, '--dir', one], { reject: false });
    for await (const line of createInterface({ input: child.stdout })) if (line.startsWith('Up after')) break;
    child.stdout.resume();
    const pids = await Playground.attach(one).pids();
    child.kill(signal);
    expect((await child).exitCode).toBe(130);
    expect(await alive(pids)).toEqual([]);
    expect(existsSync(one)).toBe(false);
  });
});
