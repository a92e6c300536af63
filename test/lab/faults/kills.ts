import { existsSync, readdirSync, readFileSync, watch } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Running } from '../../support/certroll.js';
import { lockKeys } from '../registry.js';
import { until } from '../wait.js';
import type { Stage } from './stage.js';

/** A journal line by what it is about: the ids of runs and keys differ from run to run. */
const identity = (line: string): string => {
  const { type, host, text, symbol, outcome } = JSON.parse(line) as Record<string, string | undefined>;
  const what = [type, host, text ?? symbol, outcome].filter((part) => part !== undefined).join(' ');
  return what
    .replace(/\d{8}T\d{6}Z-[0-9a-f]{6}/g, 'RUN')
    .replace(/[\w-]{43}|next keys? of \S+/g, 'KEY')
    .replace(/KEY(, KEY)+/g, 'KEY')
    .replace(/write \d+ public/, 'write N public');
};

/** Complete lines of the newest journal. */
const linesOf = (folder: string): readonly string[] => {
  const newest = readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .at(-1);
  if (newest === undefined) return [];
  return readFileSync(join(folder, newest), 'utf8').split('\n').slice(0, -1);
};

/** Kills a run as soon as its journal has a line that no run before it was killed after; false when it ended first. */
const killAtNews = async (running: Running, folder: string, seen: Set<string>): Promise<boolean> => {
  let killed = false;
  const look = (): void => {
    if (killed) return;
    for (const line of linesOf(folder)) {
      const what = identity(line);
      if (seen.has(what)) continue;
      seen.add(what);
      killed = true;
      running.kill('SIGKILL');
      return;
    }
  };
  const watcher = watch(folder, look);
  try {
    await running.finished;
  } finally {
    watcher.close();
  }
  return killed;
};

/** One rotation, killed with -9 after each line of its journal, one line a run, until a run comes to its end. */
export const killAtEveryLine = async (stage: Stage): Promise<number> => {
  const seen = new Set<string>();
  if (!existsSync(stage.journals)) await mkdir(stage.journals, { recursive: true, mode: 0o700 });
  for (;;) {
    const running = await stage.begin();
    if (!(await killAtNews(running, stage.journals, seen))) {
      const { exitCode, stderr } = await running.finished;
      if (exitCode === 0) return stage.moments;
      throw new Error(`a run that was not killed ended with ${exitCode ?? 'a signal'}: ${stderr}`);
    }
    stage.moments += 1;
    // The locks of a dead run end by themselves with its lease; dozens of leases would be waited for here.
    for (const name of ['apiserver-restart', '/certroll/lab/run'])
      if ((await lockKeys(stage.lab, name)).length > 0)
        await stage.lab.etcdctl(['del', '--prefix', `${name}/`]);
    // A restart that was sent goes on without the run that sent it.
    await until('every apiserver is ready again', 60, async () => {
      const ready = await Promise.all(stage.lab.controlPlanes.map(({ name }) => stage.lab.ready(name)));
      return ready.every(Boolean);
    });
  }
};
