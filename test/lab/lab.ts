import { bringUp, dismantle, HOUSING, wake } from './assemble.js';
import { BaseLab } from './base-lab.js';
import { restoreFault, trustEachOther } from './fault.js';
import { waitForHealth } from './health.js';
import { withLabLock } from './lab-lock.js';
import { Machine } from './machine.js';
import { ALL_HOSTS, LAB_DIR, SYSTEMD } from './settings.js';

/** Which process runs a unit: another pid or start time is another process. */
export interface ProcessStart {
  readonly pid: number;
  /** Clock ticks since the machine's boot (field 22 of /proc/PID/stat). */
  readonly startTicks: number;
}

/** A cluster of three control planes, a load balancer and a PKI, on hosts that run a real systemd. */
export class Lab extends BaseLab {
  private constructor() {
    super(
      SYSTEMD,
      ALL_HOSTS.map((spec) => new Machine(spec, HOUSING)),
    );
  }

  /** The lab as it is, up or not. */
  static attach(): Lab {
    return new Lab();
  }

  /** Brings the lab up; quick when it is up already. Hosts that are off or cut off come back. */
  static async up(): Promise<Lab> {
    const lab = new Lab();
    await withLabLock(LAB_DIR, 'up', () => bringUp(lab.machines));
    return lab;
  }

  /** Ends the hosts and removes all that the lab made, but for the cache. */
  static async down(): Promise<void> {
    const lab = new Lab();
    await withLabLock(LAB_DIR, 'down', () => dismantle(lab.machines));
  }

  protected wake(machines: readonly Machine[]): Promise<void> {
    return wake(machines);
  }

  waitForHealth(seconds = 120): Promise<void> {
    return waitForHealth(this.machines, seconds);
  }

  /** Puts the fault back: new keys, each trusted by its own apiserver only; certroll's registry is emptied. */
  restoreFault(): Promise<void> {
    return withLabLock(LAB_DIR, 'fault', () => restoreFault(this.machines));
  }

  /** Mends the fault by hand, all at once: every apiserver loads every public key. */
  trustEachOther(): Promise<void> {
    return withLabLock(LAB_DIR, 'trust', () => trustEachOther(this.machines));
  }

  async processStart(host: string, unit: string): Promise<ProcessStart> {
    const machine = this.machine(host);
    const pid = Number(
      (await machine.must(['systemctl', 'show', '--property=MainPID', '--value', unit])).trim(),
    );
    if (pid === 0) return { pid: 0, startTicks: 0 };
    const stat = await machine.must(['cat', `/proc/${pid}/stat`]);
    // The name, in parentheses, may hold spaces: count the fields after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { pid, startTicks: Number(fields[19]) };
  }
}
