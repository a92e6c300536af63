import { failed, ok, type Verdict } from './check.js';

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

const median = (numbers: readonly number[]): number =>
  [...numbers].sort((one, other) => one - other)[Math.floor((numbers.length - 1) / 2)] ?? 0;

/** What the clocks of hosts say of each other. Offsets are host minus bastion, milliseconds. */
export interface Clocks {
  /** The bastion's own clock. */
  readonly bastion: Verdict;
  /** Each host's. */
  readonly hosts: ReadonlyMap<string, Verdict>;
}

/**
 * Whose clock is off: where several hosts agree with each other and not with the bastion it is the bastion's, and the hosts
 * are judged by what most of them say.
 */
export const judgeClocks = (offsets: ReadonlyMap<string, number>, allowedMs: number): Clocks => {
  const values = [...offsets.values()];
  const middle = median(values);
  const agreeing = values.filter((offset) => Math.abs(offset - middle) <= allowedMs).length;
  const isBastion = Math.abs(middle) > allowedMs && agreeing >= 2 && agreeing * 2 > values.length;
  const right = isBastion ? middle : 0;
  const hosts = new Map(
    [...offsets].map(([name, offset]) => {
      const off = offset - right;
      const whose = isBastion ? 'that of most hosts' : "this machine's";
      return [
        name,
        Math.abs(off) <= allowedMs
          ? ok(`${seconds(off)} off ${whose}`)
          : failed(
              `its clock is ${seconds(off)} off ${whose} (allowed: ${seconds(allowedMs)})`,
              'Set it right and keep it so (chrony or systemd-timesyncd): certificates, tokens and the lock are judged by it.',
            ),
      ];
    }),
  );
  if (isBastion)
    return {
      bastion: failed(
        `the clock of this machine is ${seconds(-middle)} off that of ${agreeing} of ${values.length} hosts (allowed: ${seconds(allowedMs)})`,
        'Set the clock of this machine right and keep it so (chrony or systemd-timesyncd; timedatectl shows it).',
      ),
      hosts,
    };
  return {
    bastion: ok(
      values.length === 0 ? 'no host to compare it with' : `the hosts' clocks do not speak against it`,
    ),
    hosts,
  };
};
