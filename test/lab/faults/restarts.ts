import type { Lab } from '../lab.js';
import { CONTROL_PLANES } from '../settings.js';

export interface Interval {
  readonly host: string;
  readonly from: number;
  readonly to: number;
}

/** When systemd stopped and started the apiserver of a host on somebody's order; crashes are none of that. */
const restartsOf = async (lab: Lab, host: string, since: Date): Promise<readonly Interval[]> => {
  const { stdout } = await lab.exec(host, [
    'journalctl',
    '--unit=kube-apiserver.service',
    `--since=@${Math.floor(since.getTime() / 1000)}`,
    '--output=json',
    '_PID=1',
  ]);
  const intervals: Interval[] = [];
  let stopping: number | undefined;
  for (const line of stdout.split('\n').filter((each) => each.startsWith('{'))) {
    const { MESSAGE, __REALTIME_TIMESTAMP } = JSON.parse(line) as Record<string, string>;
    const at = Number(__REALTIME_TIMESTAMP) / 1000;
    if (MESSAGE?.startsWith('Stopping ') === true) stopping = at;
    if (MESSAGE?.startsWith('Started ') === true && stopping !== undefined) {
      intervals.push({ host, from: stopping, to: at });
      stopping = undefined;
    }
  }
  return intervals;
};

/** Restarts of all apiservers, by the journals of their systemds. All hosts share this machine's clock. */
export const restartsSince = async (lab: Lab, since: Date): Promise<readonly Interval[]> =>
  (await Promise.all(CONTROL_PLANES.map(({ name }) => restartsOf(lab, name, since)))).flat();

/** Pairs of restarts on two hosts that overlapped. */
export const overlapping = (all: readonly Interval[]): readonly string[] =>
  all.flatMap((a, at) =>
    all
      .slice(at + 1)
      .filter((b) => a.host !== b.host && a.from < b.to && b.from < a.to)
      .map((b) => `${a.host} and ${b.host}`),
  );
