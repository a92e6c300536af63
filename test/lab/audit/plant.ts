import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DAY, TestPki, type TestCert, type TestCertOptions } from '../../support/pki.js';
import { place } from '../files.js';
import { KubeClient } from '../kube.js';
import { kubeconfig } from '../kubeconfig.js';
import type { Lab } from '../lab.js';
import { authority } from '../pki.js';
import { API_NAME, API_SERVER_NAME, hostNamed, LOAD_BALANCER, PKI } from '../settings.js';

/** What apiservers check a serving certificate by, beside the host's own names. */
const SERVICE_NAMES = [
  'DNS:kubernetes',
  `DNS:${API_SERVER_NAME}`,
  `DNS:${API_NAME}`,
  `IP:${LOAD_BALANCER.address}`,
  'IP:10.96.0.1',
];

/** Hands for planting a fault on one host of the lab, and for taking it away again. */
export class Plant {
  /** What puts everything back, the last change first. */
  readonly #undo: (() => Promise<unknown>)[] = [];

  private constructor(
    readonly lab: Lab,
    readonly pki: TestPki,
    readonly kube: KubeClient,
  ) {}

  static async open(lab: Lab): Promise<Plant> {
    return new Plant(lab, await TestPki.create(), await KubeClient.open());
  }

  /** Puts all back that was changed since the last time. */
  async mend(): Promise<void> {
    for (let back = this.#undo.pop(); back; back = this.#undo.pop()) await back();
  }

  async close(): Promise<void> {
    await this.pki.remove();
  }

  later(undo: () => Promise<unknown>): void {
    this.#undo.push(undo);
  }

  sh(host: string, script: string): Promise<string> {
    return this.lab.machine(host).must(['sh', '-ec', script]);
  }

  read(host: string, path: string): Promise<string> {
    return readFile(join(this.lab.machine(host).root, path), 'utf8');
  }

  /** Keeps a file, with owner, mode and times, to be put back. */
  async keep(host: string, path: string): Promise<void> {
    const kept = `/root/kept${path.replaceAll('/', '_')}`;
    await this.sh(host, `rm -rf ${kept}; if [ -e ${path} ]; then cp -a ${path} ${kept}; fi`);
    this.later(() =>
      this.sh(host, `rm -rf ${path}; if [ -e ${kept} ]; then cp -a ${kept} ${path}; rm -rf ${kept}; fi`),
    );
  }

  /** Replaces the text of a file; owner and mode stay. */
  async write(host: string, path: string, content: string): Promise<void> {
    await this.keep(host, path);
    await this.lab.exec(host, ['sh', '-ec', `cat >${path}`], { input: content });
  }

  /** A file that was not there before. */
  async add(host: string, path: string, content: string, mode = 0o644): Promise<void> {
    await this.keep(host, path);
    await place(this.lab.machine(host).root, { path, content, mode });
  }

  /** A change by a script to one file. */
  async change(host: string, path: string, script: string): Promise<void> {
    await this.keep(host, path);
    await this.sh(host, script);
  }

  issue(ca: string, name: string, options: TestCertOptions = {}): Promise<TestCert> {
    return authority(ca).then((issuer) => this.pki.certificate(name, { issuer, ...options }));
  }

  /** A pair in place of the one at `PATH.crt` and `PATH.key`. */
  async pair(host: string, path: string, { pem, key }: TestCert): Promise<void> {
    await this.write(host, `${path}.crt`, pem);
    await this.write(host, `${path}.key`, key);
  }

  /** What kubeadm would lay down besides: kubeconfigs of people, the client pair of etcd's probes. */
  async kubeadmFiles(host: string): Promise<void> {
    const last = { to: new Date(Date.now() + 1300 * DAY) };
    const admin = await this.issue('kube-ca', `admin-${host}`, last);
    const config = kubeconfig(
      `https://${hostNamed(host).address}:6443`,
      await this.read(host, `${PKI}/ca.crt`),
      { cert: admin.pem, key: admin.key },
    );
    for (const name of ['admin.conf', 'super-admin.conf'])
      await this.add(host, `/etc/kubernetes/${name}`, config, 0o600);
    const probe = await this.issue('etcd-ca', `probe-${host}`, last);
    await this.add(host, `${PKI}/etcd/healthcheck-client.crt`, probe.pem);
    await this.add(host, `${PKI}/etcd/healthcheck-client.key`, probe.key, 0o600);
  }

  /** A serving certificate for that apiserver, good but for what `options` change. */
  serving(host: string, options: TestCertOptions & { readonly without?: string } = {}): Promise<TestCert> {
    const { name, fqdn, address } = hostNamed(host);
    const sans = [`DNS:${name}`, `DNS:${fqdn}`, `IP:${address}`, ...SERVICE_NAMES];
    return this.issue('kube-ca', 'kube-apiserver', {
      sans: sans.filter((each) => each !== options.without),
      to: new Date(Date.now() + 1400 * DAY),
      ...options,
    });
  }

  /** Restarts a unit now, and once more after everything is put back. */
  async restarted(host: string, unit: string): Promise<void> {
    this.#undo.unshift(() => this.restart(host, unit));
    await this.restart(host, unit);
  }

  async restart(host: string, unit: string): Promise<void> {
    await this.sh(host, `systemctl kill --signal=KILL ${unit}; systemctl restart ${unit}`);
    await this.lab.waitForHealth();
  }

  /** Makes an object of the API, to be deleted again. */
  async create(path: string, name: string, body: object): Promise<void> {
    const { address } = hostNamed('kubemaster1001');
    const answer = await this.kube.asAdmin(address, path, { method: 'POST', body });
    if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${answer.body}`);
    this.later(() => this.kube.asAdmin(address, `${path}/${name}`, { method: 'DELETE' }));
  }
}
