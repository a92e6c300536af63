import type { BastionPaths } from './bastion-paths.js';
import { etcdctlArguments } from './etcdctl.js';
import { haproxyStates } from './haproxy.js';
import { KubeClient, kidOf, type MatrixEntry } from './kube.js';
import type { ExecResult, Machine, MachineState } from './machine.js';
import { run } from './shell.js';
import { hostIn, type HostSpec, type Topology } from './topology.js';

/** What can be done with the hosts and the cluster of a lab, whatever its flavour. */
export abstract class BaseLab {
  constructor(
    readonly topology: Topology,
    protected readonly machines: readonly Machine[],
  ) {}

  get bastion(): BastionPaths {
    return this.topology.bastion;
  }

  get controlPlanes(): readonly HostSpec[] {
    return this.topology.controlPlanes;
  }

  /** Starts those machines that are off, and puts all cables in. */
  protected abstract wake(machines: readonly Machine[]): Promise<void>;

  /** Waits until all hosts, apiservers and the load balancer are well again. */
  abstract waitForHealth(seconds?: number): Promise<void>;

  /** The apiservers as the lab's operator sees them. */
  kube(): Promise<KubeClient> {
    return KubeClient.open({ bastion: this.bastion });
  }

  machine(host: string): Machine {
    const spec = hostIn(this.topology, host);
    const found = this.machines.find((each) => each.spec === spec);
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
    return this.wake([this.machine(host)]);
  }

  state(host: string): Promise<MachineState> {
    return this.machine(host).state();
  }

  /** Mints a token on every apiserver and presents it to every apiserver, at its own address. */
  async matrix(): Promise<MatrixEntry[]> {
    const kube = await this.kube();
    const rows = await Promise.all(
      this.controlPlanes.map(async (signer) => {
        const token = await kube.mint(signer.address);
        return Promise.all(
          this.controlPlanes.map(async (verifier) => {
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
    return (await this.kube()).jwks(hostIn(this.topology, host).address);
  }

  async ready(host: string): Promise<boolean> {
    return (await this.kube()).ready(hostIn(this.topology, host).address).catch(() => false);
  }

  haproxyStates(): Promise<ReadonlyMap<string, string>> {
    return haproxyStates(this.topology);
  }

  /** Runs etcdctl as the bastion would and returns what it printed. */
  etcdctl(args: readonly string[]): Promise<string> {
    return run(etcdctlArguments(this.topology, args));
  }
}
