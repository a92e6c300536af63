import { BaseLab } from '../base-lab.js';
import { withLabLock } from '../lab-lock.js';
import type { Machine } from '../machine.js';
import { bringUp, dismantle, machinesOf, restorePristine, wake } from './assemble.js';
import { waitForNodes } from './health.js';
import { PRISTINE } from './pristine.js';
import { KUBEADM } from './settings.js';
import { staticPod, type StaticPodProcess } from './static-pod.js';

/** A cluster that kubeadm made: three control planes with static pods, a worker, a load balancer. */
export class KubeadmLab extends BaseLab {
  private constructor() {
    super(KUBEADM, machinesOf(PRISTINE));
  }

  /** The lab as it is, up or not. */
  static attach(): KubeadmLab {
    return new KubeadmLab();
  }

  /** Brings the lab up; quick when it is up already. Hosts that are off or cut off come back. */
  static async up(): Promise<KubeadmLab> {
    const lab = new KubeadmLab();
    await withLabLock(KUBEADM.dir, 'up', () => bringUp(lab.machines));
    return lab;
  }

  /** Ends the hosts and removes all that the lab made, but for the cache. */
  static async down(): Promise<void> {
    const lab = new KubeadmLab();
    await withLabLock(KUBEADM.dir, 'down', () => dismantle(lab.machines));
  }

  protected wake(machines: readonly Machine[]): Promise<void> {
    return wake(machines);
  }

  waitForHealth(seconds = 180): Promise<void> {
    return waitForNodes(this.machines, seconds);
  }

  /**
   * Makes all hosts what they were after the build, whatever a test has left of them: files, kubelets, etcd's
   * data. Returns when all is well again.
   */
  restorePristine(): Promise<void> {
    return withLabLock(KUBEADM.dir, 'pristine', () => restorePristine(this.machines));
  }

  /** Stops the kubelet in an orderly way. Its pods go on running. */
  async stopKubelet(host: string): Promise<void> {
    await this.machine(host).must(['systemctl', 'stop', 'kubelet.service']);
  }

  /** Starts the kubelet. Returns before its node is ready: see waitForHealth. */
  async startKubelet(host: string): Promise<void> {
    await this.machine(host).must(['systemctl', 'start', 'kubelet.service']);
  }

  /**
   * The processes of that program that run in a pod on the host: none while it is away, two while an old one
   * ends and a new one starts.
   */
  staticPod(host: string, program: string): Promise<readonly StaticPodProcess[]> {
    return staticPod(this.machine(host).spec, program);
  }
}
