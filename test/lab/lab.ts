import { bringUp, dismantle, wake } from './assemble.js';
import { BASTION } from './bastion-paths.js';
import { restoreFault, trustEachOther } from './fault.js';
import { haproxyStates, waitForHealth } from './health.js';
import { KubeClient, kidOf, type MatrixEntry } from './kube.js';
import { withLabLock } from './lab-lock.js';
import { Machine, type ExecResult, type MachineState } from './machine.js';
import { ALL_HOSTS, CONTROL_PLANES, hostNamed } from './settings.js';
import { run } from './shell.js';
import { etcdctlArguments } from './etcdctl.js';

/** Which process runs a unit: another pid or start time is another process. */
export interface ProcessStart {
  readonly pid: number;
  /** Clock ticks since the machine's boot (field 22 of /proc/PID/stat). */
  readonly startTicks: number;
}

/** A cluster of three control planes, a load balancer and a PKI, on hosts that run a real systemd. */
export class Lab {
  readonly bastion = BASTION;
  readonly controlPlanes = CONTROL_PLANES;
  readonly #machines: readonly Machine[] = ALL_HOSTS.map((spec) => new Machine(spec));

  /** The lab as it is, up or not. */
  static attach(): Lab {
    return new Lab();
  }

  /** Brings the lab up; quick when it is up already. Hosts that are off or cut off come back. */
  static async up(): Promise<Lab> {
    const lab = new Lab();
    await withLabLock('up', () => bringUp(lab.#machines));
    return lab;
  }

  /** Ends the hosts and removes all that the lab made, but for the cache. */
  static async down(): Promise<void> {
    const lab = new Lab();
    await withLabLock('down', () => dismantle(lab.#machines));
  }

  machine(host: string): Machine {
    const spec = hostNamed(host);
    const found = this.#machines.find((each) => each.spec === spec);
    if (!found) throw new Error(`No machine for ${host}`);
    return found;
  }

  /** Runs a command as root on a host, past SSH. Does not throw when the command fails. */
  exec(
    host: string,
    argv: readonly string[],
    options: { readonly input?: string } = {},
  ): Promise<ExecResult> {
    return this.machine(host).exec(argv, options);
  }

  /** Pulls the host's network cable. */
  cut(host: string): Promise<void> {
    return this.machine(host).cut();
  }

  heal(host: string): Promise<void> {
    return this.machine(host).heal();
  }

  /** A power loss: every process of the host ends at once. */
  kill(host: string): Promise<void> {
    return this.machine(host).kill();
  }

  poweroff(host: string): Promise<void> {
    return this.machine(host).poweroff();
  }

  /** Starts a host that is off. Returns before its services are ready: see waitForHealth. */
  start(host: string): Promise<void> {
    return wake([this.machine(host)]);
  }

  state(host: string): Promise<MachineState> {
    return this.machine(host).state();
  }

  /** Waits until all hosts, apiservers and the load balancer are well again. */
  waitForHealth(seconds = 120): Promise<void> {
    return waitForHealth(this.#machines, seconds);
  }

  /** Puts the fault back: new keys, each trusted by its own apiserver only; certroll's registry is emptied. */
  restoreFault(): Promise<void> {
    return withLabLock('fault', () => restoreFault(this.#machines));
  }

  /** Mends the fault by hand, all at once: every apiserver loads every public key. */
  trustEachOther(): Promise<void> {
    return withLabLock('trust', () => trustEachOther(this.#machines));
  }

  /** Mints a token on every apiserver and presents it to every apiserver, at its own address. */
  async matrix(): Promise<MatrixEntry[]> {
    const kube = await KubeClient.open();
    const rows = await Promise.all(
      CONTROL_PLANES.map(async (signer) => {
        const token = await kube.mint(signer.address);
        return Promise.all(
          CONTROL_PLANES.map(async (verifier) => {
            const { status } = await kube.withToken(verifier.address, '/version', token);
            return { signer: signer.name, verifier: verifier.name, kid: kidOf(token), status };
          }),
        );
      }),
    );
    return rows.flat();
  }

  /** The kids that the host's running apiserver verifies with. */
  async jwks(host: string): Promise<string[]> {
    return (await KubeClient.open()).jwks(hostNamed(host).address);
  }

  async ready(host: string): Promise<boolean> {
    return (await KubeClient.open()).ready(hostNamed(host).address).catch(() => false);
  }

  haproxyStates(): Promise<ReadonlyMap<string, string>> {
    return haproxyStates();
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

  /** Runs etcdctl as the bastion would and returns what it printed. */
  etcdctl(args: readonly string[]): Promise<string> {
    return run(etcdctlArguments(args));
  }
}
