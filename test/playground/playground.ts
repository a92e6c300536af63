import { execa } from 'execa';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { createRequire } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { freePort } from '../support/ports.js';
import { endDaemons, listDaemons, startDaemon } from './daemons.js';
import { Pki } from './pki.js';
import { prepareControlPlane, startEtcd, startSshds, type Ports } from './services.js';
import { HOSTS, paths, type Paths } from './settings.js';

export interface UpOptions {
  readonly dir: string;
  /** Seconds after which everything ends by itself. Default: two hours. */
  readonly maxLife?: number;
}

const choosePorts = async (): Promise<Ports> => {
  const chosen = new Set<number>();
  while (chosen.size < 2 + 2 * HOSTS.length) chosen.add(await freePort());
  const [etcd = 0, etcdPeer = 0, ...rest] = chosen;
  return { etcd, etcdPeer, ssh: rest.slice(0, HOSTS.length), api: rest.slice(HOSTS.length) };
};

const clusterFile = (
  dir: string,
  ports: Ports,
): string => `# The playground's cluster, as its operator describes it. Paths are relative to this file.
name: playground
controlPlanes: { hosts: 'kubemaster[1001-1003].play.example.net' }
ssh: { config: ./ssh_config, identityFiles: [./id_ed25519], knownHosts: [./known_hosts], agent: false, sudo: false }
etcd:
  endpoints: ['https://127.0.0.1:${ports.etcd}']
  serverName: etcd.play.example.net
  ca: ./pki/ca.crt
  cert: ./pki/client.crt
  key: ./pki/client.key
lock: { ttl: 10s, wait: 30s }
api:
  kubeconfig: ./kubeconfig
  ports: { ${HOSTS.map((host, index) => `${host}: ${ports.api[index] ?? 0}`).join(', ')} }
issuer: { type: local-ca, cert: ./pki/sa-ca.crt, key: ./pki/sa-ca.key }
services:
  apiserver: { command: { restart: ['${dir}/{host}/ctl', restart], pidFile: '${dir}/pids/apiserver-{host}' } }
  controllerManager: false
restart: { readyTimes: 2, settle: 1s }
`;

const kubeconfig = (ports: Ports): string => `apiVersion: v1
kind: Config
current-context: playground
clusters: [{ name: playground, cluster: { server: 'https://127.0.0.1:${ports.api[0] ?? 0}', certificate-authority: ./pki/ca.crt, tls-server-name: kubernetes.default.svc } }]
users: [{ name: admin, user: { client-certificate: ./pki/client.crt, client-key: ./pki/client.key } }]
contexts: [{ name: playground, context: { cluster: playground, user: admin } }]
`;

const isReady = async (port: number, ca: Buffer): Promise<boolean> =>
  new Promise((resolve) => {
    request(
      { host: '127.0.0.1', port, path: '/readyz', servername: 'kubernetes.default.svc', ca, timeout: 2000 },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      },
    )
      .on('error', () => resolve(false))
      .end();
  });

/** A cluster of three control planes on loopback, with real sshd and etcd, and apiservers that are stand-ins. */
export class Playground {
  readonly dir: string;
  readonly hosts: readonly string[] = HOSTS;
  readonly #at: Paths;

  private constructor(dir: string) {
    this.dir = dir;
    this.#at = paths(dir);
  }

  static attach(dir: string): Playground {
    return new Playground(dir);
  }

  /** A fresh cluster with the fault: whatever was in the folder, and ran from it, is ended and removed first. */
  static async up({ dir, maxLife = 7200 }: UpOptions): Promise<Playground> {
    const playground = new Playground(dir);
    await playground.down();
    await mkdir(dir, { recursive: true, mode: 0o700 });
    try {
      await playground.#start(maxLife);
    } catch (error) {
      await endDaemons(dir, playground.#at.pid('.'));
      throw error;
    }
    return playground;
  }

  get clusterFile(): string {
    return this.#at.clusterFile;
  }

  /** Path of a host's file, such as `pki/sa.key`. */
  file(host: string, name: string): string {
    return this.#at.host(host, name);
  }

  /** Which of its processes run. */
  async processes(): Promise<ReadonlyMap<string, boolean>> {
    return listDaemons(this.dir, this.#at.pid('.'));
  }

  /** Ends its processes and removes its folder. */
  async down(): Promise<void> {
    await endDaemons(this.dir, this.#at.pid('.'));
    await rm(this.dir, { recursive: true, force: true });
  }

  async #start(maxLife: number): Promise<void> {
    const at = this.#at;
    const [ports, pki] = await Promise.all([choosePorts(), Pki.create(at.pki('.'))]);
    await Promise.all([
      pki.ca(at.pki('ca'), 'playground'),
      pki.ca(at.pki('sa-ca'), 'playground service accounts'),
    ]);
    await Promise.all([
      pki.leaf(at.pki('etcd'), {
        ca: at.pki('ca'),
        subject: '/CN=etcd',
        sans: ['DNS:etcd.play.example.net', 'IP:127.0.0.1'],
      }),
      pki.leaf(at.pki('client'), { ca: at.pki('ca'), subject: '/O=system:masters/CN=certroll' }),
      ...HOSTS.map(async (host, index) => prepareControlPlane(host, index, pki, at, ports)),
    ]);
    await writeFile(at.clusterFile, clusterFile(this.dir, ports));
    await writeFile(at.kubeconfig, kubeconfig(ports), { mode: 0o600 });
    await this.#startWatchdog(maxLife);
    await Promise.all([startEtcd(at, ports), startSshds(this.dir, at, ports)]);
    await Promise.all(HOSTS.map(async (host) => execa(at.host(host, 'ctl'), ['start'])));
    const ca = await readFile(at.pki('ca.crt'));
    await Promise.all(HOSTS.map(async (host, index) => this.#waitReady(host, ports.api[index] ?? 0, ca)));
  }

  /** Ends everything after a while, whatever became of the one who started it. */
  async #startWatchdog(maxLife: number): Promise<void> {
    const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
    const script = fileURLToPath(new URL('watchdog.ts', import.meta.url));
    await startDaemon([process.execPath, '--import', loader, script, this.dir, String(maxLife)], {
      pid: this.#at.pid('watchdog'),
      log: `${this.dir}/watchdog.log`,
    });
  }

  async #waitReady(host: string, port: number, ca: Buffer): Promise<void> {
    const end = performance.now() + 60_000;
    while (!(await isReady(port, ca))) {
      if (performance.now() > end) {
        const log = await readFile(this.#at.host(host, 'apiserver.log'), 'utf8').catch(() => '');
        throw new Error(
          `The apiserver of ${host} is not ready after 60 s. The end of its log:\n${log.split('\n').slice(-15).join('\n')}`,
        );
      }
      await delay(100);
    }
  }
}
